"""A comparison of the layers of Table 1, and of LSTM and GRU, in live training."""

from __future__ import annotations

import time

import streamlit as st

from transformer.jobs import shipped_race
from transformer.jobs.races import RACES
from transformer.jobs.shipped_race import ShippedRace
from transformer.ui.base import state, visitor
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.why.sizes import look_for
from transformer.ui.services import live_jobs, models
from transformer.ui.widgets import frame
from transformer.ui.widgets.races import one_race, start

RACE_NAME = "layers"
PAGE = "pages/inside.py"


def show() -> None:
    """Draw the race in the address, or the controls to start one and the list of earlier ones."""
    frame.lead_text(
        "Read a letter, wait, and output it later: over what distance can each layer remember it?"
    )
    jobs, owner, race = live_jobs.jobs(), visitor.ensure_id(), state.view(Inside).race
    if race.startswith(f"{RACE_NAME}-"):
        frame.page_link(PAGE, "← All comparisons", race="")
        one_race.body(jobs, owner, race)
        return
    shipped = shipped_race.read_race(models.folder(), RACE_NAME, RACES[RACE_NAME].entries)
    left_column, right_column = (
        st.columns([2, 3], gap="large") if shipped else (st.container(), None)
    )
    with left_column:
        st.markdown(
            "Every layer of Table 1, and LSTM and GRU, learns this task **on this machine** with "
            "the same number of weights. Example: three letters, to be output six positions later:"
        )
        st.code("input    c a f · · · 1 2 3\noutput   _ _ _ _ _ _ c a f", language=None)
        start.seeds(1)
        with st.container(border=True, key=f"race-{RACE_NAME}"):
            start.card(jobs, RACES[RACE_NAME], owner)
        if races := start.started_races(jobs, owner, only=RACE_NAME):
            st.header("Earlier comparisons")
            start.race_rows(races, owner, PAGE)
    if shipped and right_column:
        with right_column:
            _shipped_result(shipped)
        one_race.distance_figures(shipped.table, list(RACES[RACE_NAME].entries), "layers-distances")


def _shipped_result(shipped: ShippedRace) -> None:
    """Draw the result that is included with the app."""
    day = time.gmtime(shipped.measured_at)
    st.markdown("**Over what distance each layer remembers a letter**")
    st.caption(
        f"Included with the app: {day.tm_mday} {time.strftime('%b %Y', day)}, "
        f"{shipped.table['seed'].nunique()} seed each, {shipped.table['step'].max():,.0f} steps."
    )
    one_race.draw_distances(shipped.table, list(RACES[RACE_NAME].entries))
    look_for(
        "Which lines stay high at every distance? Do the lines of the convolution and of "
        "restricted attention fall to chance where their receptive field ends? When do recurrent "
        "layers forget?"
    )
