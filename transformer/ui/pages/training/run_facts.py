"""Status and facts of a run, in one line."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.text.tasks import TASKS
from transformer.training.run_folder import RunError
from transformer.ui.services import live_jobs
from transformer.ui.widgets import quantities

SCORE_KEY = "sequence_accuracy"
COLOURS: dict[str, Any] = {
    "queued": "gray",
    "running": "blue",
    "paused": "violet",
    "finished": "green",
    "cancelled": "gray",
    "failed": "red",
}


def badge(info: RunInfo) -> None:
    text = info.status if info.queue_position is None else f"queued, number {info.queue_position}"
    st.badge(text, color=COLOURS[info.status])


def facts(info: RunInfo) -> list[str]:
    task = _task_title(info)
    parts = [task] if task not in ("", info.title) else []
    parts.append(f"step {info.step:,}")
    try:
        folder = live_jobs.jobs().folder(info.name)
        # The files of a finished run do not change.
        cache_version = info.status, info.step, info.created
        finished = info.status == "finished"
        parts += _finished_facts(folder.path, cache_version) if finished else _read_facts(folder)
    except (JobError, RunError):
        pass
    if info.created:
        parts.append(quantities.ago(info.created))
    return parts


@lru_cache(maxsize=1024)
def _finished_facts(path: Path, _: tuple[object, ...]) -> tuple[str, ...]:
    return _read_facts(JobFolder(path))


def _read_facts(folder: JobFolder) -> tuple[str, ...]:
    """Return accuracy and training time. Raises RunError."""
    parts = []
    accuracies = [line[SCORE_KEY] for line in folder.last_lines() if SCORE_KEY in line]
    if accuracies:
        parts.append(f"{quantities.percent(accuracies[-1])} correct")
    seconds = folder.state().get("seconds")
    if isinstance(seconds, int | float) and seconds:
        parts.append(f"trained {quantities.duration(seconds)}")
    return tuple(parts)


def _task_title(info: RunInfo) -> str:
    """Return the title of the run's task; "" if it is unknown."""
    if info.task == "gap":
        return "Copy over a gap"
    if info.kind in ("pairs", "files"):
        return "Own sentences"
    return TASKS[info.task].title if info.task in TASKS else ""
