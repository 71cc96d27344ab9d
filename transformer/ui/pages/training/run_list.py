"""Lists of runs: the visitor's own, those included with the app, and those of other visitors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.text.tasks import TASKS
from transformer.ui.pages.training.cards import SHIPPED_PREFIX
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, metrics_tail, quantities

MAX_OTHER_RUNS = 30
"""Maximum length of the list of other visitors' runs."""
COLOURS: dict[str, Any] = {
    "queued": "gray",
    "running": "blue",
    "paused": "violet",
    "finished": "green",
    "cancelled": "gray",
    "failed": "red",
}


def own_runs(owner: str) -> None:
    """List the visitor's own runs with links to them, if there are any."""
    _section("Your runs", "", [info for info in live_jobs.runs() if info.held_by(owner)])


def other_runs(owner: str) -> None:
    """List the runs of other visitors with links to them, if there are any."""
    infos = [info for info in live_jobs.runs() if not info.held_by(owner)]
    note = "You can open them. Only their owners can control them."
    _section("Other visitors' runs", note, infos[:MAX_OTHER_RUNS])
    if len(infos) > MAX_OTHER_RUNS:
        st.caption(f"… and {len(infos) - MAX_OTHER_RUNS} older ones.")


def shipped_runs() -> None:
    """List the runs included with the app, with a link to each."""
    order = [f"{SHIPPED_PREFIX}{task}" for task in TASKS]
    positions = {name: position for position, name in enumerate(order)}
    infos = live_jobs.jobs().shipped()
    note = (
        "Runs included with the app. Open one for its curves and the film of its heads, or choose "
        "it as the model on another page."
    )
    _section(
        "Trained runs",
        note,
        sorted(infos, key=lambda run: (positions.get(run.name, -1), run.name)),
    )


def _section(title: str, note: str, infos: Iterable[RunInfo]) -> None:
    """Draw a row for each run below a header, or nothing if there are none."""
    for number, info in enumerate(infos):
        if number == 0:
            st.header(title)
            if note:
                st.caption(note)
        with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
            if not info.shipped:
                badge(info)
            frame.page_link(
                "pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, form=""
            )
            st.caption(" · ".join(_facts(info)))


def badge(info: RunInfo) -> None:
    """Draw the run's status, with its position in the queue."""
    text = info.status if info.queue_position is None else f"queued, number {info.queue_position}"
    st.badge(text, color=COLOURS[info.status])


def _facts(info: RunInfo) -> list[str]:
    task = "Own sentences" if info.kind in ("pairs", "files") else ""
    task = TASKS[info.task].title if info.task in TASKS else task
    facts = [task] if task not in ("", info.title) else []
    facts.append(f"step {info.step:,}")
    try:
        lines = live_jobs.jobs().folder(info.name).last_lines()
    except JobError:  # deleted meanwhile
        return facts
    accuracy = metrics_tail.newest(lines, "sequence_accuracy")
    if accuracy is not None:
        facts.append(f"{quantities.percent(accuracy)} correct")
    if info.created:
        facts.append(quantities.ago(info.created))
    return facts
