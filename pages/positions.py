"""Positions: how word order enters the model."""

from __future__ import annotations

import streamlit as st

from transformer.ui import state
from transformer.ui.pages.positions import (
    TABS,
    Positions,
    embedding_sum,
    extrapolation,
    formula,
    learned,
    order,
)
from transformer.ui.shell import page
from transformer.ui.widgets import controls

TOPICS = {
    "order": order.order,
    "clocks": order.clocks,
    "matrix": formula.matrix,
    "waves": formula.waves,
    "added": embedding_sum.vector_lengths,
    "parts": embedding_sum.score_terms,
    "learned": learned.show,
    "far": extrapolation.show,
}
TOPICS_WITH_SENTENCE = ("clocks", "matrix", "added", "parts")


def open_first_topic() -> None:
    """Callback: open the first topic of the selected tab."""
    if (tab := st.session_state["positions-tab"]) is not None:
        state.change(topic=TABS[tab][0])


with page.page("pages/positions.py") as model:
    tab = st.session_state["positions-tab"] = state.view(Positions).tab
    st.segmented_control(
        "Topics",
        list(TABS),
        required=True,
        key="positions-tab",
        label_visibility="collapsed",
        on_change=open_first_topic,
    )
    if len(TABS[tab]) > 1:
        controls.button_row("topic", labelled=False, options=TABS[tab])
    if state.view(Positions).topic in TOPICS_WITH_SENTENCE:
        controls.sentence(model)
    TOPICS[state.view(Positions).topic](model)
