"""The queue as a run's page shows it: position, estimated start, and another run to watch."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from transformer.jobs import JobError, RunInfo, runs_folder
from transformer.jobs.shares import seconds_until_turn
from transformer.training.estimate import Estimate
from transformer.training.run_config import TrainingRun
from transformer.training.run_folder import RunError
from transformer.ui.base import visitor
from transformer.ui.services import live_jobs, shared
from transformer.ui.widgets import frame, quantities

CACHE_SECONDS = 1.0
"""Seconds for which all sessions share one list of runs, as a whole class may be waiting."""


class QueueOverview:
    """The list of this server's runs and the duration of queued ones, shared by all sessions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until, self._infos = 0.0, tuple[RunInfo, ...]()
        self._durations: dict[str, float] = {}  # seconds by run, once estimated

    def infos(self) -> tuple[RunInfo, ...]:
        """Return all runs, at most a second old. Raises JobError."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._infos = tuple(live_jobs.jobs().runs())
                waiting = {info.name for info in self._infos if info.queue_position is not None}
                durations = {
                    name: self._durations.get(name) or _estimated_seconds(name) for name in waiting
                }
                self._durations = {name: seconds for name, seconds in durations.items() if seconds}
                self._until = time.monotonic() + CACHE_SECONDS
            return self._infos

    def seconds_until_start(self, position: int) -> float | None:
        """Return the seconds until the run at this queue position starts; None if unknown."""
        infos = self.infos()
        runs_ahead = sorted(
            (info.queue_position, info.name)
            for info in infos
            if info.queue_position is not None and info.queue_position < position
        )
        remaining = [info.seconds_left for info in infos if info.status == "running"]
        durations = [self._durations.get(name) for _, name in runs_ahead]
        return seconds_until_turn(remaining, durations, live_jobs.jobs().limits.processes)


def shared_overview() -> QueueOverview:
    """Return the shared overview of the current folder of runs."""
    return shared.shared_service(_new_overview, str(runs_folder()))


def _new_overview(_: str) -> QueueOverview:
    return QueueOverview()


def queue_sentence(info: RunInfo) -> str:
    """Return a sentence or two about the run's queue position and its start."""
    seconds = shared_overview().seconds_until_start(info.queue_position or 1)
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
        for other_run in shared_overview().infos()
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
