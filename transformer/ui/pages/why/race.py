"""A comparison of the layers of Table 1, and of LSTM and GRU, in live training."""

from __future__ import annotations

import time

import streamlit as st

from transformer.jobs import shipped_race
from transformer.jobs.races import RACES
from transformer.jobs.shipped_race import ShippedRace
from transformer.ui import state
from transformer.ui.pages.why import Why
from transformer.ui.pages.why.sizes import see
from transformer.ui.services import live_jobs, models
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame
from transformer.ui.widgets.races import one_race, start

NAME = "layers"
PAGE = "pages/why.py"


def show() -> None:
    """A race that the address names, or a way to start one; then those there were."""
    frame.lead_text(
        "A long-range task: read a letter, wait, and output it later. Every layer of Table 1, and "
        "LSTM and GRU, learns it **on this machine** with the same number of weights. Over what "
        "distance can each layer remember a letter?"
    )
    jobs, owner, asked = live_jobs.jobs(), visitor.ensure_id(), state.view(Why).race
    if asked.startswith(f"{NAME}-"):
        frame.page_link(PAGE, "← All comparisons", race="")
        one_race.body(jobs, owner, asked)
        return
    before = shipped_race.read_race(models.folder(), NAME, RACES[NAME].entries)
    left, right = st.columns([2, 3], gap="large") if before else (st.container(), None)
    with left:
        st.markdown("Example: three letters, to be output six positions later:")
        st.code("input    c a f · · · 1 2 3\noutput   _ _ _ _ _ _ c a f", language=None)
        start.seeds(1)
        with st.container(border=True, key=f"race-{NAME}"):
            start.card(jobs, RACES[NAME], owner)
        start.race_list(jobs, owner, PAGE, NAME, heading="Earlier comparisons")
    if before and right:
        with right:
            _came_with_the_app(before)
        one_race.distance_figures(before.table, list(RACES[NAME].entries), "layers-distances")


def _came_with_the_app(before: ShippedRace) -> None:
    """The result that comes with the app."""
    day = time.gmtime(before.when)
    st.markdown("**Over what distance each layer remembers a letter**")
    st.caption(
        f"Included with the app: {day.tm_mday} {time.strftime('%b %Y', day)}, "
        f"{before.table['seed'].nunique()} seed each, {before.table['step'].max():,.0f} steps."
    )
    see(
        "Which lines stay high at every distance? Do the lines of the convolution and of "
        "restricted attention fall to chance where their receptive field ends? When do recurrent "
        "layers forget?"
    )
    one_race.draw_distances(before.table, list(RACES[NAME].entries))
