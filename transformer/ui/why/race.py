"""The race of Table 1's layers and of two gated ones, in live training."""

from __future__ import annotations

import time

import streamlit as st

from transformer.jobs import shipped_race
from transformer.jobs.races import RACES
from transformer.jobs.shipped_race import ShippedRace
from transformer.ui import frame, live_jobs, models, state
from transformer.ui.races import distances, one_race, start
from transformer.ui.server import visitor
from transformer.ui.why import Why
from transformer.ui.why.sizes import see

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
    before = shipped_race.read(models.folder(), NAME, RACES[NAME].entries)
    left, right = st.columns([2, 3], gap="large") if before else (st.container(), None)
    with left:
        st.markdown("For example, three letters that must travel six positions:")
        st.code("read   c a f · · · 1 2 3\nsay    _ _ _ _ _ _ c a f", language=None)
        start.seeds(1)
        with st.container(border=True, key=f"race-{NAME}"):
            start.card(jobs, RACES[NAME], owner)
        start.listed(jobs, owner, PAGE, NAME, heading="Races so far")
    if before and right:
        with right:
            _came_with_the_app(before)
        distances.figures(before.table, list(RACES[NAME].entries), "layers-distances")


def _came_with_the_app(before: ShippedRace) -> None:
    """How far each layer carried it in a race that was run beforehand."""
    day = time.gmtime(before.when)
    st.markdown("**How far each layer carries a letter**")
    st.caption(
        f"A race that came with the app: {day.tm_mday} {time.strftime('%b %Y', day)}, "
        f"{before.table['seed'].nunique()} seed each, {before.table['step'].max():,.0f} steps."
    )
    see(
        "Which lines stay up, however far away? Where a convolution or a neighbourhood ends, does "
        "its line fall to chance? And the layers that must remember: how soon do they forget?"
    )
    distances.drawn(before.table, list(RACES[NAME].entries))
