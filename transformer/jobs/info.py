"""Information about runs for the pages, and runs that several visitors share.

A run of a task is determined by its settings, its seed and the code, so equal requests share one
run. Its holders are the visitor who requested it first and all who requested the same later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from transformer.jobs.computation import fingerprint
from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder, int_or_zero, is_number, seconds_left
from transformer.jobs.queue import Entry, position_fields, queue_order
from transformer.text.files import is_free
from transformer.training.run_config import (
    PairsRun,
    RunConfig,
    TaskRun,
    TrainingRun,
)
from transformer.training.run_folder import RunError, Status


@dataclass(frozen=True, kw_only=True)
class RunInfo(Entry):
    """The current state of a run.

    Attributes:
        created: unix time, seconds; 0 if unknown.
        queue_position: 1 is next; None if the run is not queued.
        progress: fraction of the training that is done, 0 to 1; None if unknown.
        seconds_left: remaining training time of a running run; None if unknown.
        pending_command: "pause" or "stop" until a running run has executed it, else "".
        shipped: whether it is part of the app; then it has no holders.
        shared: whether others than its holders may see it; a run on uploaded pairs is private until
            its owner shares it.
        task: one of `text.tasks`; "" for other runs.
        kind: one of `run_config.KINDS`; "" if its config.json is corrupt.
        steps: maximum number of training steps.
        fingerprint: `run_fingerprint` of its settings; "" if the run is not shared.
    """

    title: str = ""
    reason: str = ""
    step: int = 0
    created: float = 0.0
    queue_position: int | None = None
    progress: float | None = None
    seconds_left: float | None = None
    pending_command: str = ""
    shipped: bool = False
    shared: bool = True
    task: str = ""
    kind: str = ""
    steps: int = 0
    fingerprint: str = ""

    def held_by(self, visitor: str) -> bool:
        """Whether this visitor is one of its holders."""
        return visitor in self.holders

    @property
    def live(self) -> bool:
        """Whether it trains or can continue to train."""
        return self.status in ("queued", "running", "paused")

    def visible_to(self, visitor: str) -> bool:
        """Whether this visitor may see it."""
        return self.shared or self.held_by(visitor)


def read_run_info(folder: JobFolder) -> RunInfo | None:
    """Read the run of a folder; None if it was deleted. A corrupt file gives the status
    "failed"."""
    job = folder.job()
    if job.get("deleted"):
        return None
    config, state = folder.readable_config(), _valid_state(folder)
    if not folder.exists:  # renamed by another process meanwhile
        return None
    status: Status = state["status"]
    if status == "cancelled" and job.get("worker") and not is_free(folder.lock_path):
        # The trainer was ended by a signal; its worker has yet to write whether that was a pause,
        # an interruption to be queued again, or a cancellation.
        status = "running"
    lines = folder.last_lines() if status in ("running", "paused", "failed") else []
    command = folder.control().command if status == "running" else "run"
    training_run = config if isinstance(config, TrainingRun) else None
    return RunInfo(
        **position_fields(folder, job),
        title=config.title or folder.name,
        status=status,
        reason=str(state.get("reason", "")),
        step=max(
            [int_or_zero(state.get("step")), *(int_or_zero(line["step"]) for line in lines[-1:])]
        ),
        created=config.created,
        progress=1.0 if status == "finished" else _last_progress(lines),
        seconds_left=seconds_left(lines) if status == "running" else None,
        pending_command="" if command == "run" else command,
        shipped=folder.shipped,
        shared=is_shared(config, job),
        task=config.task if isinstance(config, TaskRun) else "",
        kind=config.kind,
        steps=training_run.training.steps if training_run else 0,
        fingerprint=str(job.get("fingerprint") or ""),
    )


def is_shared(config: RunConfig, job: Mapping[str, Any]) -> bool:
    """Return whether others may see a run: as its owner has set; by default unless it has uploaded
    pairs."""
    has_own_pairs = isinstance(config, PairsRun) or not config.kind
    stored = job.get("shared")
    return stored if isinstance(stored, bool) else not (has_own_pairs and config.owner)


def _last_progress(lines: list[dict[str, Any]]) -> float | None:
    shares = [line["share"] for line in lines if is_number(line.get("share"))]
    return min(1.0, max(0.0, float(shares[-1]))) if shares else None


def _valid_state(folder: JobFolder) -> dict[str, Any]:
    try:
        state = folder.state()
    except RunError:
        return {"status": "failed", "reason": "its state.json is missing or cannot be read"}
    if state.get("status") not in get_args(Status):
        return {**state, "status": "failed", "reason": "its state.json has no known status"}
    return state


def with_queue_positions(infos: Iterable[RunInfo]) -> list[RunInfo]:
    """Return the same runs with their positions in the queue."""
    infos = list(infos)
    positions = {info.name: position for position, info in enumerate(queue_order(infos), start=1)}
    return [replace(info, queue_position=positions.get(info.name)) for info in infos]


SHAREABLE_STATUSES = ("queued", "running", "finished")
"""Statuses in which a run can be shared by equal requests; not paused or failed runs, which only
their holders can resume."""


def run_fingerprint(config: TrainingRun) -> str:
    """Return a hash of everything that the run's numbers depend on; "" for runs that are never
    shared: those on uploaded pairs."""
    if not isinstance(config, TaskRun):
        return ""
    anonymous = replace(config, title="", owner="", created=0.0).to_dict()
    content = json.dumps({**anonymous, "code": fingerprint()}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def find_same_run(config: TrainingRun, infos: Iterable[RunInfo]) -> str:
    """Return the name of a shared run with the same fingerprint; "" if there is none."""
    wanted = run_fingerprint(config)
    same = (
        info.name
        for info in infos
        if info.status in SHAREABLE_STATUSES and not info.pending_command and info.shared
        if wanted and info.fingerprint == wanted
    )
    return next(same, "")


def check_sole_holder(info: RunInfo, visitor: str) -> None:
    """Raise JobError if other visitors hold the run too, with their number."""
    if count := len({*info.holders} - {visitor}):
        holders = "one other visitor has" if count == 1 else f"{count} other visitors have"
        raise JobError(
            f"{holders} this run too, so it cannot be changed; train one with another seed to "
            f"control it alone"
        )
