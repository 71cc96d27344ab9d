"""The race of Table 1's layers and of two gated ones, in live training."""

from __future__ import annotations

import streamlit as st

from transformer.jobs.races import RACES
from transformer.ui import frame, live_jobs, state
from transformer.ui.races import one_race, start
from transformer.ui.server import visitor
from transformer.ui.why import Why

NAME = "layers"
PAGE = "pages/why.py"


def show() -> None:
    """A race that the address names, or a way to start one; then those there were."""
    frame.lead(
        "A word is read, then nothing for a while, then it is asked for. Every layer of Table 1, "
        "and the gated ones that came before it, LSTM and GRU, learns this **on this machine**, "
        "with equally many weights: how far can each carry a letter?"
    )
    jobs, owner, asked = live_jobs.jobs(), visitor.owner(), state.view(Why).race
    if asked.startswith(f"{NAME}-"):
        frame.link(PAGE, "← Start another, or see those there were", race="")
        one_race.body(jobs, owner, asked)
        return
    _example()
    start.seeds(1)
    with st.container(border=True, key=f"race-{NAME}"):
        start.card(jobs, RACES[NAME], owner)
    st.subheader("Races so far")
    start.listed(jobs, owner, PAGE, NAME)


def _example() -> None:
    """The task, as a sequence."""
    st.markdown("For example, three letters that must travel six positions:")
    st.code("read   c a f · · · 1 2 3\nsay    _ _ _ _ _ _ c a f", language=None)
