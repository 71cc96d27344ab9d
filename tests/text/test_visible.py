"""Blank texts, and signs that a terminal would obey."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.visible import is_blank, shown


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t\n", "\u200b", "\u200d\u2060\ufeff", "\x00\x1b\x9b", "\u202e \u3000"],
)
def test_nothing_to_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "a\u200b", "\u0301", "\U0001f989", "\ufffd"])
def test_anything_to_be_seen_is_not(text: str) -> None:
    assert not is_blank(text)


@given(st.text())
def test_what_is_shown_steers_nothing_and_says_the_same(text: str) -> None:
    """Of control signs only tab and line feed are left, and JSON reads back what was written."""
    out = shown(text)
    assert not {s for s in out if unicodedata.category(s) == "Cc"} - {"\t", "\n"}
    assert json.loads(shown(json.dumps(text, ensure_ascii=False))) == text
