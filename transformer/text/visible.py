"""Visible text: blank texts, characters that nobody sees, control characters, and sentences."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}
"""Unicode categories: control, format (includes zero-width characters) and separators."""
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_IGNORABLE = re.compile(
    "[\0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), NUL, and the annotation and
object characters U+FFF9 to U+FFFC. Joiners are below; models read a zero-width space as a space."""
_JOINERS = re.compile("(^|[\0-\u058f])[\u200c\u200d]+")
"""Joiners after Latin, Greek, Cyrillic or Armenian letters; in other scripts and in emoji they are
part of the spelling."""


def without_invisible(text: str) -> str:
    """Return the text without characters that have no glyph, such as a word joiner or a variation
    selector; `client/model/normalizer.js` does the same."""
    if text.isascii() and "\0" not in text:
        return text
    return _JOINERS.sub(r"\1", _IGNORABLE.sub("", text))


def normalised(text: str) -> str:
    """Return the text as most models read it: NFKC, with single spaces and nothing invisible. Two
    sources that are equal after this are one source."""
    visible = without_invisible(text).replace("\u200b", " ")
    return " ".join(unicodedata.normalize("NFKC", visible).split())


def is_blank(text: str) -> bool:
    """Whether the text is empty or has only white space, zero-width and control characters."""
    if text[:1].isalnum():
        return False  # for speed
    if text.isspace():
        return True  # for speed
    return all(
        unicodedata.category(character) in _INVISIBLE_CATEGORIES
        for character in without_invisible(text)
    )


def escape_controls(text: str) -> str:
    """Return `text` for a terminal, with control characters (C0 and C1 except tab and line feed)
    and those that change the text direction escaped as in JSON, such as \\u001b."""
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def as_sentence(error: object) -> str:
    """Return an error's message as a sentence, with a final mark, and a capital letter unless it
    begins with the name of a setting."""
    text = str(error).strip()
    first = text.split(" ")[0]
    if "_" not in first and not any(letter in first for letter in ".-'"):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!", '."')) else f"{text}."
