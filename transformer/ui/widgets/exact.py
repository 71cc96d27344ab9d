"""Words as people read them, or exactly what the model has: one switch for all pages, and the names
of tokens, layers and heads as it has them (those of `naming`, for this session)."""

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
"""Said where whole words cannot be shown."""


def is_on() -> bool:
    """Whether this session names everything exactly."""
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
    """The same in the name of a file."""
    return short(layer, head).replace("·", "-")


def python_code(label: str, code: str) -> None:
    """What prints the same from Python, to be unfolded; only where everything is exact."""
    if is_on():
        with st.expander(label):
            st.code(code, language="python")


def token_caption() -> None:
    """A short line where whole words cannot be shown."""
    if not is_on():
        st.caption(TOKEN_CAPTION)


def number(count: int) -> str:
    """A layer, a head or a place, as it is counted."""
    return str(naming.display_number(count, is_on()))


def first() -> int:
    """The number of the first layer, head or position as it is shown: 0 or 1."""
    return naming.display_number(0, is_on())


def numbering() -> Callable[[int], str]:
    """The same for a list to choose from, which may be asked outside of the session."""
    is_exact = is_on()
    return lambda count: str(naming.display_number(count, is_exact))


def formula(latex: str) -> str:
    """`naming.display_latex` for this session."""
    return naming.display_latex(latex, is_on())


def display_text(text: str) -> str:
    """`naming.display_text` for this session: for what a room below has said."""
    return naming.display_text(text, is_on())
