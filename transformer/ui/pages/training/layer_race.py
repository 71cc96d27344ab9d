"""The race of the layers of Table 1, and of LSTM and GRU: its task and the result that is included
with the app."""

from __future__ import annotations

import time

import streamlit as st

from transformer.jobs import Jobs
from transformer.jobs.race_runs import read_race
from transformer.training.races import RACES
from transformer.ui.pages.training import race_cards, race_page
from transformer.ui.services import models
from transformer.ui.widgets import frame

NAME = "layers"


def show(jobs: Jobs, owner: str) -> None:
    """Draw the task, the controls to start the race, and the included result, if there is one."""
    race = RACES[NAME]
    frame.page_link("pages/train.py", "← All runs and races", run="", race="")
    frame.lead_text(
        "Read a letter, wait, and output it later: over what distance can each layer remember it?"
    )
    task_column, result_column = st.columns([2, 3], gap="large")
    with task_column:
        st.markdown(
            "Every layer of Table 1, and LSTM and GRU, learns this task **on this machine** with "
            "the same number of weights. Example: three letters, to be output six positions later:"
        )
        st.code("input    c a f · · · 1 2 3\noutput   _ _ _ _ _ _ c a f", language=None)
        race_cards.seeds()
        with st.container(border=True, key=f"race-{NAME}"):
            race_cards.card(jobs, race, owner)
    result = read_race(models.folder(), NAME, race.entries)
    if result is None:
        return
    day, entries = time.gmtime(result.measured_at), list(race.entries)
    with result_column:
        st.markdown("**Over what distance each layer remembers a letter**")
        st.caption(
            f"Included with the app: {day.tm_mday} {time.strftime('%b %Y', day)}, "
            f"{result.table['seed'].nunique()} seed each, {result.table['step'].max():,.0f} steps."
        )
        race_page.draw_distances(result.table, entries)
        st.markdown(
            "**What to look for.** Which lines stay high at every distance? Do the lines of the "
            "convolution and of restricted attention fall to chance where their receptive field "
            "ends? When do recurrent layers forget?"
        )
    race_page.distance_figures(result.table, entries, "layers-distances")
