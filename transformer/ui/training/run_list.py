"""The list of runs: one's own first, then those of others, to look at."""

from __future__ import annotations

import streamlit as st

from transformer.jobs import RunInfo
from transformer.text.tasks import TASKS
from transformer.ui import frame, live_jobs
from transformer.ui.kit import run_facts

OTHERS = 30
"""Most runs of others that are listed."""
TOY = "toy-"
"""What the names of the tasks' runs begin with that came with the app; then the task's name."""


def listed(owner: str) -> None:
    """Own and others' runs, each a link to it."""
    infos = [info for info in live_jobs.runs() if info.race is None]  # those have a list
    mine = [info for info in infos if info.held_by(owner)]
    others = [info for info in infos if not info.held_by(owner)]
    st.subheader("Your runs")
    if not mine:
        st.info("Nothing trained yet: press **Train** on one of the cards above.")
    for info in mine:
        _row(info)
    if others:
        st.subheader("Runs of others")
        st.caption("To look at; whoever began a run controls it.")
        for info in others[:OTHERS]:
            _row(info)
        if len(others) > OTHERS:
            st.caption(f"… and {len(others) - OTHERS} older ones.")


def shipped() -> None:
    """The runs that came with the app, each a link to it; nothing where there are none."""
    infos = live_jobs.jobs().shipped()
    if not infos:
        return
    st.subheader("Already trained")
    st.caption(
        "These came with the app: open one for its curves and the film of its heads, or choose it "
        "as the model on any other page."
    )
    order = [f"{TOY}{task}" for task in TASKS]
    places = {name: place for place, name in enumerate(order)}
    for info in sorted(infos, key=lambda one: (places.get(one.name, -1), one.name)):
        with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
            frame.link("pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race="")
            st.caption(" · ".join(run_facts.facts(info)))


def of_task(task: str) -> RunInfo | None:
    """The run of this task that came with the app, if there is one."""
    return next((one for one in live_jobs.jobs().shipped() if one.name == f"{TOY}{task}"), None)


def _row(info: RunInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
        run_facts.badge(info)
        frame.link("pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race="")
        st.caption(" · ".join(run_facts.facts(info)))
