"""The queue as a run's page shows it: position, estimated start, and another run to watch."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.jobs.shares import seconds_until_turn
from transformer.training.estimate import Estimate
from transformer.training.run_config import TrainingRun
from transformer.training.run_folder import RunError
from transformer.ui.base import visitor
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, quantities


@st.cache_resource(ttl=1.0, max_entries=1, show_spinner=False)
def _durations(names: tuple[str, ...]) -> dict[str, float | None]:
    """Return the estimated seconds of whole runs, for all sessions; None if not yet measured."""
    return {name: _estimated_seconds(name) for name in names}


def _seconds_until_start(position: int) -> float | None:
    """Return the seconds until the run at this queue position starts; None if unknown."""
    infos = live_jobs.recent_runs(live_jobs.jobs())
    queued = sorted(
        (info.queue_position, info.name) for info in infos if info.queue_position is not None
    )
    durations = _durations(tuple(name for _, name in queued))
    remaining = [info.seconds_left for info in infos if info.status == "running"]
    ahead = [durations[name] for number, name in queued if number < position]
    return seconds_until_turn(remaining, ahead, live_jobs.jobs().limits.processes)


def queue_sentence(info: RunInfo) -> str:
    """Return a sentence or two about the run's queue position and its start."""
    seconds = _seconds_until_start(info.queue_position or 1)
    start_note = f"Starts in about {quantities.duration(seconds)}." if seconds else ""
    if info.queue_position == 1:
        return f"First in the queue. {start_note or 'It starts as soon as a worker is free.'}"
    return (
        f"Number {info.queue_position} in the queue. {start_note} You can close this page.".replace(
            "  ", " "
        )
    )


def running_run_link(info: RunInfo) -> None:
    """Draw a link to a running run, preferring the same task and then the most advanced one."""
    running = [
        other_run
        for other_run in live_jobs.recent_runs(live_jobs.jobs())
        if other_run.status == "running"
        and other_run.name != info.name
        and other_run.visible_to(visitor.current_id())
    ]
    if running:
        best = max(running, key=lambda run: (run.task == info.task, run.progress or 0.0))
        title = frame.plain(best.title)
        frame.page_link(
            "pages/train.py", f"Meanwhile, watch **{title}** train →", run=best.name, race=""
        )


def _estimated_seconds(name: str) -> float | None:
    """Return the estimated seconds of a whole run; None until a separate process has measured."""
    with suppress(JobError, RunError, ValueError):
        config = live_jobs.jobs().folder(name).config()
        if isinstance(config, TrainingRun):
            estimate = live_jobs.time_estimate(config)
            return estimate.seconds if isinstance(estimate, Estimate) else None
    return None
