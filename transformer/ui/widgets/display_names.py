"""Names of tokens, layers and heads as this session displays them, and the toggle between whole
words and exact tokens on all pages (`measures.naming` for this session)."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from transformer.measures import naming
from transformer.ui.base import state

TOGGLE_HELP = (
    "Show the model's tokens and special tokens, and the matching Python code, which counts layers "
    "and heads from 0. Off: whole words."
)
TOKEN_CAPTION = "Tokens may be parts of words; “…” marks the continuation of a word."
"""Caption where whole words cannot be shown."""


def is_exact() -> bool:
    """Return whether this session shows exact tokens."""
    return bool(state.view().exact)


def exact_toggle() -> None:
    st.toggle(**{**state.bound("exact"), "help": TOGGLE_HELP})


def tokens(pieces: Sequence[str]) -> list[str]:
    return naming.token_names(pieces, is_exact())


def numbered_tokens(pieces: Sequence[str]) -> list[str]:
    """Return the names of tokens after their positions, from 1."""
    return [f"{number(index)} {name}" for index, name in enumerate(tokens(pieces))]


def token(piece: str) -> str:
    return naming.token_name(piece, is_exact())


def piece(piece: str) -> str:
    """`naming.piece_name` for this session."""
    return naming.piece_name(piece, is_exact())


def for_file_name(layer: int, head: int) -> str:
    """Return the short name for a file name."""
    return naming.short_name(layer, head).replace("·", "-")


def python_code(label: str, code: str) -> None:
    """Draw an expander with the matching Python code, if exact names are on."""
    if is_exact():
        with st.expander(label):
            st.code(code, language="python")


def token_caption() -> None:
    """Draw the caption for numbers that belong to tokens, unless exact names are on."""
    if not is_exact():
        st.caption(TOKEN_CAPTION)


def number(index: int) -> str:
    """Return the number of a layer, head or position as it is shown, from 1."""
    return str(naming.display_number(index))


def display_text(text: str) -> str:
    """`naming.display_text` for this session, for texts from other packages."""
    return naming.display_text(text, is_exact())
