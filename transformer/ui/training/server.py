"""One `Jobs` for all sessions of this server, and what a session asks of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from transformer.jobs import JobError, Jobs, Limits, RunInfo, runs_folder, services
from transformer.jobs.estimating import Estimating
from transformer.jobs.info import read
from transformer.jobs.limits import FILE
from transformer.training.estimate import Estimate
from transformer.ui import models, visitor


def jobs() -> Jobs:
    """The server's jobs, with workers that are warm, or about to be.

    Raises:
        ValueError: if limits.toml or the folder of runs cannot be used.
    """
    found = _one()
    found.start()
    return found


def go_on() -> None:
    """Before anybody opens a page: start workers if an earlier server left runs, in line or with a
    worker of its own that is still saving. Raises ValueError as `jobs` does."""
    found = _one()
    if any(info.status in ("queued", "running") for info in found.runs()):
        found.start()


def _one() -> Jobs:
    where = str(runs_folder()), os.environ.get(FILE, ""), str(models.shipped_folder())
    return services.once(_jobs, *where)


def _jobs(folder: str, limits: str, shipped: str) -> Jobs:
    """Workers end, and save, with this process: they hold the other end of a pipe."""
    return Jobs(folder, Limits.load(limits or None), shipped=shipped)


def look(name: str) -> RunInfo:
    """One run as it stands, without reading all others unless it waits in line.

    Raises:
        JobError: if there is none of this name that this visitor may see.
    """
    found = read(jobs().folder(name))
    if found is None:
        raise JobError(f"there is no run {name!r}; it may have been deleted")
    if not found.seen_by(visitor.known()):
        raise JobError("this run learns from sentences of its owner's, who has not shared it")
    return jobs().run(name) if found.status == "queued" else found


def runs() -> list[RunInfo]:
    """All runs that this visitor may see, the newest first. Raises JobError."""
    return [info for info in jobs().runs() if info.seen_by(visitor.known())]


def estimated(
    config: Mapping[str, Any], pairs: tuple[tuple[str, str], ...] = ()
) -> Estimate | str | None:
    """As `Estimating.look`: None while it is measured, beside the server."""
    return services.once(_estimating, jobs().limits.memory).look(config, pairs)


def _estimating(memory: int) -> Estimating:
    return Estimating(memory)
