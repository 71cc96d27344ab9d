"""A run that waits in the queue: its position, when it will start, and what to watch meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from transformer.jobs import JobError, RunInfo, runs_folder, services
from transformer.jobs.shares import until_turn
from transformer.run_config import TrainingRun
from transformer.training.estimate import Estimate
from transformer.training.run import RunError
from transformer.ui.services import live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, quantities

LOOKED_FOR = 1.0
"""Seconds for which all sessions share one reading of all runs, as a class waits together."""


class Lookout:
    """All runs of this server, read once for everybody who waits, and what those in line take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until, self._infos = 0.0, tuple[RunInfo, ...]()
        self._takes: dict[str, float] = {}  # by a run's name, once it is known

    def infos(self) -> tuple[RunInfo, ...]:
        """As they stood a second ago at most. Raises JobError."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._infos = tuple(live_jobs.jobs().runs())
                waiting = {one.name for one in self._infos if one.place is not None}
                known = {name: self._takes.get(name) or _takes(name) for name in waiting}
                self._takes = {name: seconds for name, seconds in known.items() if seconds}
                self._until = time.monotonic() + LOOKED_FOR
            return self._infos

    def until_turn(self, place: int) -> float | None:
        """Seconds until the run at this place begins; None where that is not known."""
        infos = self.infos()
        before = sorted(
            (one.place, one.name) for one in infos if one.place is not None and one.place < place
        )
        left = [one.seconds_left for one in infos if one.status == "running"]
        takes = [self._takes.get(name) for _, name in before]
        return until_turn(left, takes, live_jobs.jobs().limits.processes)


def lookout() -> Lookout:
    """The one of this server's folder of runs."""
    return services.once(_made, str(runs_folder()))


def _made(_: str) -> Lookout:
    return Lookout()


def queue_position(info: RunInfo) -> str:
    """A sentence or two about the run's position and when it will start."""
    seconds = lookout().until_turn(info.place or 1)
    when = f"Starts in about {quantities.duration(seconds)}." if seconds else ""
    if info.place == 1:
        return f"First in the queue. {when or 'It starts as soon as a worker is free.'}"
    return f"Number {info.place} in the queue. {when} You can close this page.".replace("  ", " ")


def meanwhile(info: RunInfo) -> None:
    """Link to a run that trains now: of the same task if there is one, else the furthest one."""
    running = [
        one
        for one in lookout().infos()
        if one.status == "running" and one.name != info.name and one.seen_by(visitor.known())
    ]
    if running:
        best = max(running, key=lambda one: (one.task == info.task, one.progress or 0.0))
        title = frame.plain(best.title)
        frame.link(
            "pages/train.py", f"Meanwhile, watch **{title}** train →", run=best.name, race=""
        )


def _takes(name: str) -> float | None:
    """Seconds of a whole run, as they are measured beside the server; None until they are."""
    with suppress(JobError, RunError, ValueError):
        config = live_jobs.jobs().folder(name).config()
        if isinstance(config, TrainingRun):
            found = live_jobs.estimated(config)
            return found.seconds if isinstance(found, Estimate) else None
    return None
