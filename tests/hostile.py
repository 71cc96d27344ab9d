"""Strategies of hostile input: text, values of any JSON type, and corrupt files."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

MAX_CHANGED_POSITION = 4000
"""Bytes are changed in the first part of a file, where formats have their headers."""

TEXTS = st.text(max_size=20) | st.sampled_from(
    (
        *("\0", "\x1b[2J", "\u202e", "\ud800", "\x85", "é", "9" * 5000, "1e309", "NaN", "null"),
        *("<script>", "![x](http://x)", "../..", "0-0", "</s>", "=A1", "{}", "true"),
    )
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def corrupt_json(draw: st.DrawFn, values: Mapping[str, Any]) -> str:
    """Return `values` as JSON with one value replaced, or truncated, or other text."""
    if draw(st.integers(0, 7)) == 0:
        return draw(st.sampled_from(("", "[]", "3", "[" * 100_000, '"x"', "\0", "nul")))
    changed = copy.deepcopy(dict(values))
    inner, name = changed, draw(st.sampled_from(sorted(changed)))
    while isinstance(inner[name], dict) and inner[name] and draw(st.booleans()):
        inner = inner[name]
        name = draw(st.sampled_from(sorted(inner)))
    inner[name] = draw(JSON_VALUES)
    text = json.dumps(changed)
    is_truncated = draw(st.integers(0, 7)) == 0
    return text[: draw(st.integers(0, len(text)))] if is_truncated else text


@st.composite
def corrupt_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Return `content` with up to four changed bytes, possibly truncated."""
    changed = bytearray(content)
    last = min(len(content), MAX_CHANGED_POSITION) - 1
    for position in draw(st.lists(st.integers(0, last), max_size=4)):
        changed[position] = draw(st.integers(0, 255))
    return bytes(changed[: draw(st.just(len(content)) | st.integers(0, len(content)))])


def check_message(error: Exception) -> None:
    """Check that an error has one sentence that a page can show."""
    assert str(error).strip()
    assert "\n" not in str(error)
    assert "Traceback" not in str(error)
