"""Characters that nobody sees, compared with the Unicode data of the `regex` package."""

from __future__ import annotations

import sys

import pytest
import regex  # type: ignore[import-untyped]

from transformer.text import Vocabulary
from transformer.text.visible import is_blank, without_invisible

KEPT = {"\u200b"}  # a zero-width space, which models read as a space
OTHERS = {"\0", *map(chr, range(0xFFF9, 0xFFFD))}
"""NUL, and characters of annotations and objects."""


def test_exactly_the_default_ignorable_characters_are_left_out_of_latin_text() -> None:
    text = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    ignorable = {c for c in text if regex.match(r"\p{Default_Ignorable_Code_Point}", c)}
    dropped = {c for c in text if without_invisible(f"a{c}") == "a"}
    assert dropped == ignorable - KEPT | OTHERS


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f4bb writes",  # an emoji of a woman and a computer
        "می\u200cخواهم",  # Persian, "I want"
        "क्\u200dष",  # Hindi with a half letter
    ],
)
def test_joiners_stay_where_they_are_spelling(text: str) -> None:
    assert without_invisible(text) == text
    assert without_invisible(f"\u200d{text[:1]}\ufe0f{text[1:]}\u2060") == text


def test_invisible_characters_change_no_id(vocabulary: Vocabulary) -> None:
    expected = vocabulary.encode("the cat sleeps")
    for character in "\ufe0f\ufe0e\u2060\u2066\u034f\U000e0041\ufffc\u061c\u180e\u200d\u200c":
        assert vocabulary.encode(f"{character}the c{character * 2}at sleeps") == expected
        assert is_blank(f" {character}\n")
