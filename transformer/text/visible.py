"""What can be seen of a text: nothing at all, and signs that would act instead of being shown."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}
"""Categories of Unicode: control, format (zero-width signs are among them) and separators."""
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def is_blank(text: str) -> bool:
    """Whether nobody can see anything in it: empty, white, zero-width or of control signs alone."""
    return all(unicodedata.category(character) in _INVISIBLE_CATEGORIES for character in text)


def escape_controls(text: str) -> str:
    """`text` for a terminal: signs that would steer it (ESC and all of C0 and C1 but tab and line
    feed) or turn its direction are written out, as \\u001b; that is JSON's own way to write them.
    """
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
