"""A run in a line: its status, and what is known of it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.text.tasks import TASKS
from transformer.training.run import RunError
from transformer.ui import live_jobs
from transformer.ui.kit import quantities

COLOURS: dict[str, Any] = {
    "queued": "gray",
    "running": "blue",
    "paused": "violet",
    "finished": "green",
    "cancelled": "gray",
    "failed": "red",
}


def badge(info: RunInfo) -> None:
    """The run's status."""
    text = info.status if info.place is None else f"queued, place {info.place}"
    st.badge(text, color=COLOURS[info.status])


def facts(info: RunInfo) -> list[str]:
    try:
        folder = live_jobs.jobs().folder(info.name)
        lines, seconds = folder.last_lines(), folder.state().get("seconds")
    except (JobError, RunError):
        lines, seconds = [], None
    task = _task_title(info)
    found = [task] if task not in ("", info.title) else []
    found.append(f"step {info.step:,}")
    right = [line["sequence_accuracy"] for line in lines if "sequence_accuracy" in line]
    if right:
        found.append(f"{quantities.percent(right[-1])} right")
    if isinstance(seconds, int | float) and seconds:
        found.append(f"trained {quantities.duration(seconds)}")
    if info.created:
        found.append(quantities.ago(info.created))
    return found


def _task_title(info: RunInfo) -> str:
    """What the run learns, for people; "" if it does not say."""
    if info.task == "gap":
        return "Copy over a gap"
    if info.kind in ("pairs", "files"):
        return "Own sentences"
    return TASKS[info.task].title if info.task in TASKS else ""
