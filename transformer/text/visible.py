"""Visible text: whether a text is blank, and control characters escaped for a terminal."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}
"""Unicode categories: control, format (includes zero-width characters) and separators."""
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def is_blank(text: str) -> bool:
    """Whether the text is empty or has only white space, zero-width and control characters."""
    if text[:1].isalnum():
        return False  # for speed
    if text.isspace():
        return True  # for speed
    return all(unicodedata.category(character) in _INVISIBLE_CATEGORIES for character in text)


def escape_controls(text: str) -> str:
    """Return `text` for a terminal, with control characters (C0 and C1 except tab and line feed)
    and those that change the text direction escaped as in JSON, such as \\u001b."""
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
