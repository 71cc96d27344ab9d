"""Limits on what visitors may use of the machine, set by the operator in limits.toml."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from transformer.app_folders import APP_FOLDER
from transformer.config import ModelConfig, Record
from transformer.jobs.errors import JobError
from transformer.jobs.shares import Requester, address_quota, check_quotas
from transformer.training.run_config import TaskRun, TrainingRun

LIMITS_VARIABLE = "HEADS_UP_LIMITS"
"""Environment variable: path of the operator's file, instead of the app's `limits.toml`."""

CGROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Files with a container's memory limit on Linux: cgroups v2 and v1."""
MIN_WORKER_MEMORY = 500_000_000
"""Bytes that a training process may need for PyTorch and a small model."""
TWO_RUNS_MEMORY = 4_000_000_000
"""Memory from which a machine trains two runs at once by default, in bytes."""
KEY_FILES = ("ca.pem", "cert.pem", "key.pem")
"""Files in the folder of a cluster's keys: trusted certificates, own certificate, private key."""
_SCHEDULER = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory(limit_files: Sequence[Path] = CGROUP_FILES) -> float:
    """Return the memory available to this process in bytes: the machine's or the container's;
    infinite if unknown.

    Args:
        limit_files: files with a container's limit, if there is one.
    """
    sizes = [math.inf]
    if hasattr(os, "sysconf"):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in limit_files:
        with suppress(OSError, ValueError):  # "max" is not a number: there is no limit
            sizes.append(int(file.read_text()))
    return min(sizes)


def count_parameters(config: ModelConfig) -> int:
    """Return the number of weights of a model, computed from its sizes (embeddings are tied)."""
    d = config.d_model
    attention = 4 * d * d + (d if config.score == "additive" else 0) + (4 * d * config.biases)
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    layer = 3 * attention + 2 * feed_forward + 5 * 2 * d  # an encoder and a decoder layer
    positions = 2 * config.max_len * d if config.positions == "learned" else 0
    output = config.vocab_size if config.output_bias else 0
    return config.vocab_size * d + config.n_layers * layer + positions + output


ORIGIN = re.compile(r"https?://(\*\.)?[a-zA-Z0-9.-]{1,253}(:\d{1,5})?")
"""An origin in a Content-Security-Policy; "*." stands for all subdomains."""


def _quoted(name: str, value: Any) -> Any:
    if not isinstance(value, str):  # the value may be a token, which no log should have
        raise ValueError(f'{name} must be text in "quotes"')
    return value


@dataclass(frozen=True)
class Limits(Record):
    """The limits in limits.toml, with their defaults.

    Attributes:
        workers: number of concurrent runs; 0 means half the cores, and two on two or three cores.
        nice: niceness of training processes, 0 (same priority as the pages) to 19.
        parameters: maximum weights of one model.
        batch_tokens: maximum source plus target positions of one step.
        pairs: maximum pairs generated for one run of a task.
        minutes: maximum training minutes of one run, and its default.
        queued: maximum queued runs of all visitors.
        runs_per_visitor: maximum stored runs of one visitor, in any state.
        runs_per_address: the same for all visitors of one network address; an address may have half
            of the queue.
        disk_free: bytes that new runs must leave free on the disk.
        pass_minutes: maximum minutes of one measurement over a corpus.
        upload_bytes: maximum bytes of the files uploaded with one run.
        memory: maximum bytes of memory of one training or measuring process, where the system can
            enforce it (Linux without a graphics card).
        model_bytes: maximum bytes of models that the pages keep loaded, including copies for
            decoding; the one unused for longest is unloaded first.
        class_members: maximum number of students in a class.
        teacher_token: the token that opens a class; "": a new one is printed at every start.
        frame_ancestors: origins of other sites that may show the app in a frame, such as a learning
            platform, separated by spaces; "": none.
        proxies: number of proxies between browsers and the app, each of which adds the address of
            its client to X-Forwarded-For; 0: the header is not used.
        executor: "dask" trains and measures on a cluster; "": on this machine.
        scheduler: the address of the cluster's scheduler.
        cluster_keys: the folder of the cluster's TLS keys (docs/cluster.md).
    """

    readers: ClassVar = {**Record.readers, "str": _quoted}

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
    class_members: int = 60
    teacher_token: str = field(default="", repr=False)
    frame_ancestors: str = ""
    proxies: int = 0
    executor: str = ""
    scheduler: str = ""
    cluster_keys: str = ""

    def __post_init__(self) -> None:
        if self.teacher_token and not 12 <= len(self.teacher_token.strip()) <= 200:
            raise ValueError('teacher_token must have 12 to 200 characters, or none: ""')
        for origin in self.frame_ancestors.split():
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"frame_ancestors has {origin!r}; an origin is like https://school.example"
                )
        _check_cluster(self.executor, self.scheduler, self.cluster_keys)
        for name, value in ((limit.name, getattr(self, limit.name)) for limit in fields(self)):
            if isinstance(value, str):
                continue
            if maximum := {"workers": 64, "nice": 19, "proxies": 10}.get(name):
                if not 0 <= value <= maximum:
                    raise ValueError(f"{name} must be 0 to {maximum}, not {value}")
                continue
            minimum = MIN_WORKER_MEMORY if name == "memory" else 1
            if not minimum <= value < math.inf:
                raise ValueError(f"{name} must be at least {minimum:,}, not {value:,}")

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Read the operator's file; return the defaults if it does not exist.

        Raises ValueError with the file and the error. A path given here or in the environment must
        exist.
        """
        given_path = path or os.environ.get(LIMITS_VARIABLE)
        file = Path(given_path) if given_path else APP_FOLDER / "limits.toml"
        if not given_path and not file.exists():
            return cls()
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from error
        try:
            return cls.from_dict(values)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

    @property
    def processes(self) -> int:
        """Number of workers to start. A run with small steps, such as every run from the pages,
        uses one core; so two cores train two runs, unless memory is short."""
        default = 2 if machine_memory() >= TWO_RUNS_MEMORY else 1
        return self.workers or max(min(cores(), default), cores() // 2)

    @property
    def threads(self) -> int:
        """Threads of a run with large steps: its share of the cores, but at least two (if there are
        two cores) unless the operator has set `workers`."""
        minimum = 1 if self.workers else min(cores(), 2)
        return max(minimum, cores() // self.processes)

    def check_run(self, config: TrainingRun, uploaded: bytes = b"") -> TrainingRun:
        """Return the run with its minutes set. Raises JobError if a setting exceeds a limit, with
        both numbers."""
        training, options = config.training, config.options if isinstance(config, TaskRun) else {}
        pairs = sum(options.get(name, 0) for name in ("n_train", "n_valid"))
        self._check_at_most(
            "this model would have {} weights", count_parameters(config.model), self.parameters
        )
        self._check_at_most(
            "a step would have {} positions", training.batch_tokens, self.batch_tokens
        )
        self._check_at_most("{} pairs would be generated", pairs, self.pairs)
        self._check_at_most("{} minutes were requested", training.minutes, self.minutes)
        self._check_at_most("the files have {} bytes", len(uploaded), self.upload_bytes)
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
    ) -> None:
        """Raise JobError if one more run would exceed the limit of queued or of stored runs."""
        check_quotas(
            stored,
            requester,
            "delete one first",
            visitor=(self.runs_per_visitor, "you keep {} runs"),
            address=(self.runs_per_address, "{} runs are stored from your address"),
        )
        check_quotas(
            waiting,
            requester,
            "try again when one of them has begun",
            address=(address_quota(self.queued), "{} runs from your address are waiting"),
            total=(self.queued, "{} runs are waiting"),
        )

    def check_disk(self, free: int) -> None:
        """Raise JobError if the disk has less free space than `disk_free`."""
        if free < self.disk_free:
            raise JobError(
                f"the disk with the runs has {free / 1e9:.1f} GB free, and "
                f"{self.disk_free / 1e9:.1f} GB must stay free: delete a run first"
            )


def _check_cluster(executor: str, scheduler: str, keys: str) -> None:
    """Raise ValueError for invalid settings, or for an unencrypted cluster on the network."""
    if executor not in ("", "dask"):
        raise ValueError(f'executor must be "dask", or "" for this machine, not {executor!r}')
    if not executor:
        if scheduler or keys:
            raise ValueError('scheduler and cluster_keys need a cluster: add executor = "dask"')
        return
    match = _SCHEDULER.fullmatch(scheduler)
    if not match or not 0 < int(match[3]) < 65536:
        raise ValueError(
            f"scheduler must be an address such as tls://10.0.0.5:8786, not {scheduler[:80]!r}"
        )
    if match[1] == "tcp":
        if not _is_loopback(match[2]):
            raise ValueError(
                f"{scheduler} is not encrypted, and anyone who reaches a scheduler can run "
                "programs there: use tls:// and cluster_keys; tcp:// is only for 127.0.0.1"
            )
        return
    if not keys:
        raise ValueError("tls:// needs cluster_keys, the folder of ca.pem, cert.pem and key.pem")
    for name in KEY_FILES:
        if not (Path(keys) / name).is_file():
            raise ValueError(f"cluster_keys: the folder {keys} has no {name}")


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
