"""Heads lab: what a head does, and what happens without it."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, state
from transformer.ui.lab import align, cards, matter, moves, switch

PARTS = {
    "switch": ("Switch heads off", switch.show),
    "moves": ("What a weight moves", moves.show),
    "cards": ("What each head does", cards.show),
    "matter": ("Which heads matter", matter.show),
    "align": ("Word alignment", align.show),
}

with frame.page("pages/lab.py") as model:
    st.title("Heads lab")
    st.segmented_control(
        "What to look at",
        list(PARTS),
        format_func=lambda part: PARTS[part][0],
        required=True,
        label_visibility="collapsed",
        **state.bound("lab"),
    )
    PARTS[state.view().lab][1](model)
