"""What is typed to come into a class: codes, tokens and first names, made and read."""

from __future__ import annotations

import hmac
import re
import secrets
import unicodedata

CODE_CHARACTERS = "23456789ACDEFHJKMNPRTUVWXY"
"""None that is taken for another where it is read off a wall: no 0, O and Q, no 1, I and L, no S
beside 5, no B beside 8, no Z beside 2, no G beside 6."""
CODE_LENGTH = 6
"""26^6 are 309 million codes. Of 20 classes one is hit by 100 guesses, an address's share of ten
minutes (`Attempts`), once in 150,000 times."""
MAX_NAME_LENGTH = 24
_SEPARATORS = re.compile(r"[\s-]+")


class ClassroomError(ValueError):
    """What cannot be done in a class; one sentence says why, and what would be right."""


def new_code() -> str:
    return "".join(secrets.choice(CODE_CHARACTERS) for _ in range(CODE_LENGTH))


def new_token() -> str:
    """A token for the teacher, 75 random bits in four groups."""
    return "-".join("".join(secrets.choice(CODE_CHARACTERS) for _ in range(4)) for _ in range(4))


def read_code(text: str) -> str:
    """A code as somebody typed it: small letters, spaces and dashes do not count.

    Raises:
        ClassroomError: for what can be no code.
    """
    code = _SEPARATORS.sub("", text[:100]).upper()
    if len(code) != CODE_LENGTH or not set(code) <= set(CODE_CHARACTERS):
        raise ClassroomError(
            f"A class's code has {CODE_LENGTH} letters and digits, like {show_code('K7FA2P')}; "
            "type it as your teacher shows it."
        )
    return code


def show_code(code: str) -> str:
    """In two halves, as it is read aloud."""
    return f"{code[: CODE_LENGTH // 2]} {code[CODE_LENGTH // 2 :]}"


def read_name(text: str) -> str:
    """A first name, "" for none.

    Raises:
        ClassroomError: for one that is too long, or holds what no name does.
    """
    name = " ".join(unicodedata.normalize("NFC", text[:1000]).split())
    kinds = [unicodedata.category(character)[0] for character in name]
    allowed = all(
        kind in "LMN" or character in " .-'’" for kind, character in zip(kinds, name, strict=True)
    )
    if name and (len(name) > MAX_NAME_LENGTH or not allowed or "L" not in kinds):
        raise ClassroomError(
            f"A name has at most {MAX_NAME_LENGTH} letters, digits, spaces, dots and dashes; a "
            "first name is enough, and none will do."
        )
    return name


def is_token(typed: str, token: str) -> bool:
    """Whether somebody typed this token, in a time that does not tell how much of it."""
    return bool(token) and hmac.compare_digest(_normalized(typed), _normalized(token))


def _normalized(token: str) -> bytes:
    return token.strip()[:1000].encode("utf-8", "replace")
