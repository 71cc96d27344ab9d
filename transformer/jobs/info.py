"""What a page shows of a run, whose it is, and the order of the line.

A run of a task is told by its settings, its seed and the code: whoever asks for it again gets the
numbers that are there already, or come. So it is computed once, and is everybody's own: of the one
who asked for it first, and of all who asked for the same since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from transformer.jobs.computation import fingerprint
from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder, is_number, seconds_left
from transformer.jobs.shares import Requester, fair_order
from transformer.run_config import LayerRun, PairsRun, RaceEntry, RunConfig, TaskRun, TrainingRun
from transformer.training.locks import is_free
from transformer.training.run import RunError, Status


@dataclass(frozen=True)
class RunInfo:
    """One run as it stands.

    Attributes:
        holders: whose run it is, whoever asked first before those who asked for the same; ids to
            compare with, never to show. Nobody: the command line's.
        created: unix time, seconds; 0 if the run does not say.
        place: in the queue, 1 is next; None if the run does not wait.
        progress: how much of the training is over, 0 to 1; None if nothing is known.
        seconds_left: of a running run's training; None if nothing is known yet.
        asked: "pause" or "stop" while a running run has not done it yet, or nothing.
        turn: the order of coming; a resumed run keeps its own. first: it stands before all that
            are not.
        shipped: whether it came with the app; then it is nobody's.
        shared: whether others than its owner may see it; a run on pairs that a visitor brought is
            private until that visitor shares it.
        address: where its owner asked from, in words of the page's; "" if that is not known.
        task: what it learns, one of `text.tasks`; "" if it says none, as one on pairs does.
        kind: of `run_config.KINDS`; "" if its config.json is spoilt.
        layer: the layer of Table 1 that it trains for their race; "" if it is a translator.
        race: the race that it belongs to, if any; steps: those that it is to take at most.
    """

    name: str
    title: str
    holders: tuple[str, ...]
    status: Status
    reason: str
    step: int
    created: float
    queue_position: int | None = None
    progress: float | None = None
    seconds_left: float | None = None
    pending_command: str = ""
    turn: int = 0
    first: bool = False
    shipped: bool = False
    address: str = ""
    shared: bool = True
    task: str = ""
    kind: str = ""
    layer: str = ""
    race: RaceEntry | None = None
    steps: int = 0

    @property
    def owner(self) -> str:
        """The first who has it, whose place in line it takes; "" if nobody has."""
        return self.holders[0] if self.holders else ""

    def held_by(self, visitor: str) -> bool:
        """Whether it is this visitor's, perhaps among others."""
        return visitor in self.holders

    @property
    def live(self) -> bool:
        """Whether it still learns, or will."""
        return self.status in ("queued", "running", "paused")

    def visible_to(self, visitor: str) -> bool:
        """Whether this visitor may look at it."""
        return self.shared or self.held_by(visitor)


def read_run_info(folder: JobFolder) -> RunInfo | None:
    """The run in this folder; None if it has been deleted. A spoilt file makes it a failed one."""
    job = folder.job()
    if job.get("deleted"):
        return None
    config, state = folder.title_and_owner(), _valid_state(folder)
    if not folder.exists:  # renamed away while we read
        return None
    status: Status = state["status"]
    if status == "cancelled" and job.get("worker") and not is_free(folder.lock_path):
        # The trainer ended at a signal and says so; what that meant its worker has yet to say: a
        # pause, a place in line for the next server, or the end.
        status = "running"
    lines = folder.last_lines() if status in ("running", "paused", "failed") else []
    command = folder.control().command if status == "running" else "run"
    training_run = config if isinstance(config, TrainingRun) else None
    return RunInfo(
        name=folder.name,
        title=config.title or folder.name,
        holders=() if folder.shipped else holders(config, job),
        status=status,
        reason=str(state.get("reason", "")),
        step=max(
            [_int_or_zero(state.get("step")), *(_int_or_zero(line["step"]) for line in lines[-1:])]
        ),
        created=config.created,
        progress=1.0 if status == "finished" else _last_progress(lines),
        seconds_left=seconds_left(lines) if status == "running" else None,
        pending_command="" if command == "run" else command,
        turn=_int_or_zero(job.get("turn")),
        first=job.get("first") is True,
        shipped=folder.shipped,
        address=str(job.get("address") or ""),
        shared=is_shared(config, job),
        task=config.task if isinstance(config, TaskRun) else "",
        kind=config.kind,
        layer=config.layer.name if isinstance(config, LayerRun) else "",
        race=training_run.race if training_run else None,
        steps=training_run.training.steps if training_run else 0,
    )


def holders(config: RunConfig, job: Mapping[str, Any]) -> tuple[str, ...]:
    """Whose run it is, the first one first."""
    stored = job.get("holders")
    if (
        stored
        and isinstance(stored, list)
        and all(isinstance(holder, str) and holder for holder in stored)
    ):
        return tuple(stored)
    return (config.owner,) if config.owner else ()


def is_shared(config: RunConfig, job: Mapping[str, Any]) -> bool:
    """By its owner's word, or else unless it has pairs that came with it, or nobody knows."""
    has_own_pairs = isinstance(config, PairsRun) or not config.kind
    stored = job.get("shared")
    return stored if isinstance(stored, bool) else not (has_own_pairs and config.owner)


def _int_or_zero(value: object) -> int:
    return int(value) if isinstance(value, int | float) and is_number(value) else 0


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


def queue_order(infos: Iterable[RunInfo]) -> list[RunInfo]:
    """The queued runs, next one first: those that are to be, then by `shares.in_turn`."""
    infos = list(infos)
    running = [info for info in infos if info.status == "running"]
    waiting = [info for info in infos if info.status == "queued"]
    by_arrival = sorted(waiting, key=lambda info: (info.turn, info.name))
    order = fair_order(by_arrival, running, lambda info: Requester(info.owner, info.address))
    return sorted(order, key=lambda info: not info.first)


def with_queue_positions(infos: Iterable[RunInfo]) -> list[RunInfo]:
    """The same runs; those that wait know their place."""
    infos = list(infos)
    positions = {info.name: position for position, info in enumerate(queue_order(infos), start=1)}
    return [replace(info, queue_position=positions.get(info.name)) for info in infos]


SHAREABLE_STATUSES = ("queued", "running", "finished")
"""Statuses of a run that others may have too: one that paused or failed is its holders' to go on
with."""


def run_fingerprint(config: TrainingRun) -> dict[str, Any] | None:
    """All that such a run's numbers depend on, as it would stand in a file; None where there is
    more: pairs that came with it, or a race that it is an entry of."""
    if not isinstance(config, TaskRun) or config.race is not None:
        return None
    anonymous = replace(config, title="", owner="", created=0.0).to_dict()
    return {**anonymous, "code": fingerprint()}


def find_same_run(
    config: TrainingRun, infos: Iterable[RunInfo], folders: Mapping[str, JobFolder]
) -> JobFolder | None:
    """The run that computes the same, if there is one that anybody may see and that nobody has
    changed while it learned.

    Args:
        folders: of the runs in `infos`, by name.
    """
    fingerprint_wanted = run_fingerprint(config)
    if fingerprint_wanted is None:
        return None
    for info in infos:
        if info.status in SHAREABLE_STATUSES and not info.pending_command and info.shared:
            folder = folders[info.name]
            try:
                candidate = folder.config()
            except RunError:
                continue
            job = folder.job()
            same = (
                isinstance(candidate, TrainingRun)
                and run_fingerprint(candidate) == fingerprint_wanted
            )
            if same and job.get("code") == fingerprint_wanted["code"] and not job.get("changed"):
                return folder
    return None


def check_sole_holder(info: RunInfo, visitor: str) -> None:
    """Nobody changes what others wait for. Raises JobError, which says how many they are."""
    if count := len({*info.holders} - {visitor}):
        who = "somebody else has" if count == 1 else f"{count} others have"
        raise JobError(
            f"{who} this run too, and it is computed once for all: leave it, or train one with "
            "another seed to have it alone"
        )
