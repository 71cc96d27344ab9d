"""What a visitor may take of the machine; the operator sets it all in limits.toml."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from transformer.app_folders import APP_FOLDER
from transformer.config import ModelConfig, did_you_mean
from transformer.jobs.errors import JobError
from transformer.jobs.scheduler_address import check_cluster
from transformer.jobs.shares import Requester, address_quota, exceeded_quota
from transformer.run_config import TaskRun, TrainingRun

LIMITS_VARIABLE = "HEADS_UP_LIMITS"
"""Environment variable: the operator's file, instead of `limits.toml` beside the app."""

CGROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where Linux tells a container its memory: control groups of the second kind, and of the first."""
TWO_RUNS_MEMORY = 4_000_000_000
"""Bytes of memory of a machine that trains two runs at once unasked."""
_FIELD_TYPES: dict[str, tuple[Any, str]] = {
    "int": (int, "a whole number"),
    "float": (int | float, "a number"),
    "str": (str, 'text in "quotes"'),
}


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory(limit_files: Sequence[Path] = CGROUP_FILES) -> float:
    """Bytes of memory that this process may have: the machine's, or less in a container.

    Args:
        limits: files in which a container's limit stands, if there is one; infinite where neither
            they nor the system say.
    """
    sizes = [math.inf]
    if hasattr(os, "sysconf"):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in limit_files:
        with suppress(OSError, ValueError):  # "max" is no number and no limit
            sizes.append(int(file.read_text()))
    return min(sizes)


def count_parameters(config: ModelConfig) -> int:
    """Weights of a model of this shape, without building it (figure 1; embeddings are tied)."""
    d = config.d_model
    attention = 4 * d * d + (d if config.score == "additive" else 0) + (4 * d * config.biases)
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    layer = 3 * attention + 2 * feed_forward + 5 * 2 * d  # an encoder's and a decoder's
    positions = 2 * config.max_len * d if config.positions == "learned" else 0
    output = config.vocab_size if config.output_bias else 0
    return config.vocab_size * d + config.n_layers * layer + positions + output


@dataclass(frozen=True)
class Limits:
    """What limits.toml says, with its defaults.

    Attributes:
        workers: runs that train at the same time; 0 means half the cores, and two on two or three.
        nice: how far training gives way to the pages, 0 (not at all) to 19.
        parameters: most weights of one model.
        batch_tokens: most source plus target positions of one step.
        pairs: most pairs made for one run of a task.
        minutes: most minutes of one run's training; a run that asks for none gets these.
        queued: most runs that wait, of all visitors together.
        runs_per_visitor: most runs that one visitor keeps, whatever became of them.
        runs_per_address: the same for all visitors of one network address together; of those
            that wait an address has half, and one that has none yet always gets a place.
        disk_free: bytes of the runs' disk that no new run may take.
        pass_minutes: most minutes that one measurement over a corpus may take.
        upload_bytes: most bytes of the files that come with one run.
        memory: most bytes of memory of one process that trains or measures, where the system
            (Linux, without a graphics card) can hold it to them.
        model_bytes: of models that the pages keep open, with the copies that decoding makes of
            their weights; the one that was not looked at for longest makes room.
        classes: most classes at a time; class_members: most students of one.
        teacher_token: what opens a class; "" has one made at every start and shown on the console.
        executor: "dask" has other machines train and measure; "": this one alone.
        scheduler: the cluster's address; cluster_keys: the folder of its keys (docs/cluster.md).
    """

    workers: int = 0
    nice: int = 10
    parameters: int = 5_000_000
    batch_tokens: int = 16_384
    pairs: int = 100_000
    minutes: float = 20.0
    queued: int = 100
    runs_per_visitor: int = 40
    runs_per_address: int = 200
    disk_free: int = 1_000_000_000
    pass_minutes: float = 15.0
    upload_bytes: int = 5_000_000
    memory: int = 3_000_000_000
    model_bytes: int = 900_000_000
    classes: int = 20
    class_members: int = 60
    teacher_token: str = field(default="", repr=False)
    executor: str = ""
    scheduler: str = ""
    cluster_keys: str = ""

    def __post_init__(self) -> None:
        if self.teacher_token and not 12 <= len(self.teacher_token.strip()) <= 200:
            raise ValueError('teacher_token must have 12 to 200 signs, or none: ""')
        check_cluster(self.executor, self.scheduler, self.cluster_keys)
        for name, value in ((limit.name, getattr(self, limit.name)) for limit in fields(self)):
            if isinstance(value, str):
                continue
            if maximum := {"workers": 64, "nice": 19}.get(name):
                if not 0 <= value <= maximum:
                    raise ValueError(f"{name} must be 0 to {maximum}, not {value}")
            elif not 1 <= value < math.inf:
                raise ValueError(f"{name} must be at least 1, not {value}")

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """The operator's file; the defaults where there is none. Raises ValueError, naming the file
        and what is wrong in it. A file that was asked for by name, here or in the environment, must
        be there."""
        named = path or os.environ.get(LIMITS_VARIABLE)
        file = Path(named) if named else APP_FOLDER / "limits.toml"
        if not named and not file.exists():
            return cls()
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from error
        kinds = {limit.name: limit.type for limit in fields(cls)}
        for name, value in values.items():
            if name not in kinds:
                raise ValueError(f"{file}: there is no limit {name!r}{did_you_mean(name, kinds)}")
            accepted, description = _FIELD_TYPES[str(kinds[name])]
            if isinstance(value, bool) or not isinstance(value, accepted):
                shown_value = "another kind of value" if accepted is str else repr(value)
                raise ValueError(f"{file}: {name} must be {description}, not {shown_value}")
        try:
            return cls(**values)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

    @property
    def processes(self) -> int:
        """Workers to start. A run of small steps, as all are that a page offers, takes one core:
        where there are two, both train, unless memory is short."""
        default = 2 if machine_memory() >= TWO_RUNS_MEMORY else 1
        return self.workers or max(min(cores(), default), cores() // 2)

    @property
    def threads(self) -> int:
        """Of a run of large steps: a share of the cores, and where that is one and nobody has said
        how many train at once, two, with both cores for itself (`claims.WorkerCapacity`)."""
        minimum = 1 if self.workers else min(cores(), 2)
        return max(minimum, cores() // self.processes)

    def check_run(self, config: TrainingRun, files: Mapping[str, bytes]) -> TrainingRun:
        """The run with its minutes bounded. Raises JobError for a setting that goes past a limit,
        with both numbers."""
        training, options = config.training, config.options if isinstance(config, TaskRun) else {}
        pairs = sum(options.get(name, 0) for name in ("n_train", "n_valid"))
        self._check_at_most(
            "this model would have {} weights", count_parameters(config.model), self.parameters
        )
        self._check_at_most(
            "a step would have {} positions", training.batch_tokens, self.batch_tokens
        )
        self._check_at_most("{} pairs would be made", pairs, self.pairs)
        self._check_at_most("{} minutes were asked for", training.minutes, self.minutes)
        size = sum(len(content) for content in files.values())
        self._check_at_most("the files have {} bytes", size, self.upload_bytes)
        minutes = training.minutes or self.minutes
        return replace(config, training=replace(training, minutes=minutes))

    def _check_at_most(self, message: str, value: float, maximum: float) -> None:
        if value > maximum:
            raise JobError(f"{message.format(f'{value:,}')}; this app allows at most {maximum:,}")

    def check_capacity(
        self,
        waiting: Sequence[Requester],
        stored: Sequence[Requester],
        requester: Requester,
        count: int = 1,
    ) -> None:
        """Raises JobError if there are enough runs for `wanted` more, those that wait or those that
        are kept."""
        race = f"the race has {count} runs and " if count > 1 else ""
        fewer_seeds = ", or take fewer seeds" if race else ""
        own = sum(request.visitor == requester.visitor for request in stored)
        if own + count > self.runs_per_visitor:
            raise JobError(
                f"{race}you keep {own:,} runs and this app allows {self.runs_per_visitor:,}: "
                f"delete {'some' if race else 'one'} first{fewer_seeds}"
            )
        same_address = sum(
            bool(requester.address) and request.address == requester.address for request in stored
        )
        if same_address + count > self.runs_per_address:
            raise JobError(
                f"{race}{same_address:,} runs are kept from your address and this app allows "
                f"{self.runs_per_address:,}: delete {'some' if race else 'one'} first{fewer_seeds}"
            )
        retry = f"try again when {'some of them have' if race else 'one of them has'} begun"
        match exceeded_quota(waiting, requester, self.queued, count):
            case "address":
                waiting_here = sum(request.address == requester.address for request in waiting)
                raise JobError(
                    f"{race}{waiting_here:,} runs from your address are waiting and this app "
                    f"allows {address_quota(self.queued):,}: {retry}{fewer_seeds}"
                )
            case "all":
                raise JobError(
                    f"{race}{len(waiting):,} runs are waiting and this app allows "
                    f"{self.queued:,}: {retry}{fewer_seeds}"
                )

    def check_disk(self, free: int) -> None:
        """Raises JobError if less is free for runs than must stay."""
        if free < self.disk_free:
            raise JobError(
                f"the disk of the runs has {free / 1e9:.1f} GB left and this app leaves "
                f"{self.disk_free / 1e9:.1f}: delete a run first"
            )
