"""Class codes, teacher tokens and first names: generation and validation."""

from __future__ import annotations

import hmac
import re
import secrets
import unicodedata
from string import ascii_uppercase, digits

CODE_CHARACTERS = "23456789ACDEFHJKMNPRTUVWXY"
"""Characters that are hard to confuse when read from a projector: no 0, O, Q, 1, I and L; of 5/S,
8/B, 2/Z and 6/G only the digit."""
CODE_LENGTH = 6
"""There are 26^6 = 309 million codes. A right code is always accepted, whatever was guessed before:
50 guesses in every second of two hours find one of 20 classes with a probability of 2%, and a
teacher can remove whoever joins."""
MAX_NAME_LENGTH = 24
_SEPARATORS = re.compile(r"[\s-]+")


class ClassroomError(ValueError):
    """An invalid action in a class; the message is shown to the user."""


def new_code() -> str:
    return "".join(secrets.choice(CODE_CHARACTERS) for _ in range(CODE_LENGTH))


def new_token() -> str:
    """Return a random teacher token: 75 bits, in four groups."""
    return "-".join("".join(secrets.choice(CODE_CHARACTERS) for _ in range(4)) for _ in range(4))


def read_code(text: str) -> str:
    """Normalise a typed code of a class: case, spaces and dashes are ignored.

    Raises:
        ClassroomError: for text that cannot be a code.
    """
    code = _SEPARATORS.sub("", text[:100]).upper()
    if len(code) != CODE_LENGTH or not set(code) <= set(CODE_CHARACTERS):
        excluded = sorted({*ascii_uppercase, *digits} - set(CODE_CHARACTERS))
        raise ClassroomError(
            f"A class's code has {CODE_LENGTH} letters and digits, like {show_code('K7FA2P')}, "
            f"without {', '.join(excluded)}; type it as your teacher shows it."
        )
    return code


def show_code(code: str) -> str:
    """Return the code in groups of three characters, as it is read aloud."""
    return " ".join(code[start : start + 3] for start in range(0, len(code), 3))


def read_name(text: str) -> str:
    """Normalise a typed first name; "" for none.

    Raises:
        ClassroomError: for a name that is too long or has other characters than names do.
    """
    name = " ".join(unicodedata.normalize("NFC", text[:1000]).split())
    kinds = [unicodedata.category(character)[0] for character in name]
    allowed = all(
        kind in "LMN" or character in " .-'’" for kind, character in zip(kinds, name, strict=True)
    )
    if name and (len(name) > MAX_NAME_LENGTH or not allowed or "L" not in kinds):
        raise ClassroomError(
            f"A name has at most {MAX_NAME_LENGTH} letters, digits, spaces, dots and dashes; a "
            "first name is enough, and you can leave it empty."
        )
    return name


def is_token(typed: str, token: str) -> bool:
    """Whether the text is this token; compared in constant time."""
    return bool(token) and hmac.compare_digest(_normalized(typed), _normalized(token))


def _normalized(token: str) -> bytes:
    return token.strip()[:1000].encode("utf-8", "replace")
