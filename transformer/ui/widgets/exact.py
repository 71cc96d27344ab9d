"""The switch between whole words and exact tokens, for all pages, and the names of tokens, layers
and heads that follow it (`measures.naming` for this session)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from transformer.measures import naming
from transformer.ui import state

HELP = (
    "Show the model's tokens and special tokens, count layers and heads from 0, and show the "
    "matching Python code. Off: whole words, and numbers from 1."
)
TOKEN_CAPTION = (
    "These numbers belong to tokens, which may be parts of words: “…” marks a continuation."
)
"""Caption where whole words cannot be shown."""


def is_on() -> bool:
    """Return whether this session shows exact tokens and counts from 0."""
    return bool(state.view().exact)


def switch() -> None:
    st.toggle(**{**state.bound("exact"), "help": HELP})


def tokens(pieces: Sequence[str]) -> list[str]:
    return naming.token_names(pieces, is_on())


def token(piece: str) -> str:
    return naming.token_name(piece, is_on())


def layer(number: int) -> str:
    return naming.layer_name(number, is_on())


def head(layer: int, head: int) -> str:
    return naming.head_name(layer, head, is_on())


def short(layer: int, head: int) -> str:
    return naming.short_name(layer, head, is_on())


def in_file(layer: int, head: int) -> str:
    """Return the short name for a file name."""
    return short(layer, head).replace("·", "-")


def python_code(label: str, code: str) -> None:
    """Draw an expander with the matching Python code, if exact names are on."""
    if is_on():
        with st.expander(label):
            st.code(code, language="python")


def token_caption() -> None:
    """Draw the caption for numbers that belong to tokens, unless exact names are on."""
    if not is_on():
        st.caption(TOKEN_CAPTION)


def number(count: int) -> str:
    """Return the number of a layer, head or position as it is shown."""
    return str(naming.display_number(count, is_on()))


def first() -> int:
    """Return the number of the first layer, head or position as it is shown: 0 or 1."""
    return naming.display_number(0, is_on())


def numbering() -> Callable[[int], str]:
    """Return `number` as a function that also works outside of the session, for menus."""
    is_exact = is_on()
    return lambda count: str(naming.display_number(count, is_exact))


def formula(latex: str) -> str:
    """`naming.display_latex` for this session."""
    return naming.display_latex(latex, is_on())


def display_text(text: str) -> str:
    """`naming.display_text` for this session, for texts from other packages."""
    return naming.display_text(text, is_on())
