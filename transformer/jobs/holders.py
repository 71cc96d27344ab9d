"""Who has a run: the one who asked for it first, and all who asked for the same since.

A run of a task is told by its settings, its seed and the code: whoever asks for it again gets the
numbers that are there already, or come. So it is computed once, and is everybody's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from transformer.jobs.computation import fingerprint
from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import RunInfo
from transformer.run_config import TaskRun, TrainingRun
from transformer.training.run import RunError

STANDS = ("queued", "running", "finished")
"""Statuses of a run that others may have too: one that paused or failed is its holders' to go on
with."""


def told_by(config: TrainingRun) -> dict[str, Any] | None:
    """All that such a run's numbers depend on, as it would stand in a file; None where there is
    more: pairs that came with it, or a race that it is an entry of."""
    if not isinstance(config, TaskRun) or config.race is not None:
        return None
    bare = replace(config, title="", owner="", created=0.0).to_dict()
    return {**bare, "code": fingerprint()}


def find_same(
    config: TrainingRun, infos: Iterable[RunInfo], folders: Mapping[str, JobFolder]
) -> JobFolder | None:
    """The run that computes the same, if there is one that anybody may see and that nobody has
    changed while it learned.

    Args:
        folders: of the runs in `infos`, by name.
    """
    wanted = told_by(config)
    if wanted is None:
        return None
    for info in infos:
        if info.status in STANDS and not info.asked and info.shared:
            folder = folders[info.name]
            try:
                found = folder.config()
            except RunError:
                continue
            job = folder.job()
            same = isinstance(found, TrainingRun) and told_by(found) == wanted
            if same and job.get("code") == wanted["code"] and not job.get("changed"):
                return folder
    return None


def refuse_for_others(info: RunInfo, visitor: str) -> None:
    """Nobody changes what others wait for. Raises JobError, which says how many they are."""
    if others := len({*info.holders} - {visitor}):
        who = "somebody else has" if others == 1 else f"{others} others have"
        raise JobError(
            f"{who} this run too, and it is computed once for all: leave it, or train one with "
            "another seed to have it alone"
        )
