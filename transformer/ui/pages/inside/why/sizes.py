"""Sliders for the sizes in Table 1, the layers' names, and number formatting."""

from __future__ import annotations

import math

import streamlit as st

from transformer.analysis.table1.paths import STACKS
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside

NAMES = {
    "self-attention": "Self-attention",
    "recurrent": "Recurrent",
    "convolutional": "Convolutional",
    "restricted": "Restricted self-attention",
    "dilated": "Convolutional, dilated",
}
COLOUR_INDEX = {name: index for index, name in enumerate(STACKS)}
"""Index of a layer's colour in every figure."""
_HELP = {
    "n": "Number of positions: the tokens of one sentence.",
    "d": "The paper uses d_model = 512, or 1024 in the big model.",
    "k": "Positions that one output sees; odd, because the kernel is centred.",
    "r": "Keys that restricted self-attention sees; odd, because the window is centred.",
}


def sliders(*letters: str) -> Inside:
    """Draw the sliders for these sizes and return the view.

    Raises:
        ValueError: for an even kernel or neighbourhood size in the address.
    """
    for letter, column in zip(letters, st.columns(len(letters)), strict=True):
        current = getattr(state.view(Inside), letter)
        column.select_slider(
            options=sorted({*_steps(letter), current}),
            format_func=lambda value: f"{value:,}",
            **{**state.bound(letter), "help": _HELP[letter]},
        )
    view = state.view(Inside)
    for letter in ("k", "r"):
        if getattr(view, letter) % 2 == 0:
            raise ValueError(
                f"The size {letter} must be odd, not {getattr(view, letter)}, because it is "
                "centred on a position. Choose an odd value with the slider."
            )
    return view


def format_count(value: float) -> str:
    """Format a count, such as "2.1 million"."""
    if not math.isfinite(value):
        return "never" if value > 0 else "–"
    for size, word in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if value >= size:
            return f"{value / size:.3g}{word}"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _steps(letter: str) -> list[int]:
    low, high = (int(end) for end in Inside.fields()[letter].bounds)
    if letter in ("k", "r"):
        return [
            *range(low, min(high, 15) + 1, 2),
            *(2**p - 1 for p in range(5, high.bit_length() + 1)),
        ]
    powers = [2**p for p in range(high.bit_length()) if low <= 2**p <= high]
    return sorted({*powers, *(3 * p // 2 for p in powers if low <= 3 * p // 2 <= high)})


def look_for(text: str) -> None:
    """Draw a note on what to look for in the next figure."""
    st.markdown(f"**What to look for.** {text}")
