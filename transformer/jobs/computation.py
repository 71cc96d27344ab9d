"""Computations outside the app's process: a function, its arguments and its lane."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transformer.app_folders import PACKAGE

if TYPE_CHECKING:
    from transformer.analysis.corpora import Corpus

EXCLUDED_PACKAGES = ("app", "cli", "cluster", "jobs", "ui")
"""Packages that only request or display results; changes in them do not invalidate stored
results."""
_SERVER_ID = secrets.token_hex(8)  # so that timings are not reused after a restart of the server


@dataclass(frozen=True)
class Lane:
    """A queue of computations with its own process, so that short ones never wait for long ones.

    Attributes:
        max_results: number of results to keep; the least recently used are deleted first.
        seconds: maximum wall-clock time of a computation; 0: the operator's `pass_minutes`.
        max_cpu_seconds: maximum CPU time of a computation, however busy the machine is; 0: no
            limit.
        hint: advice to the user if a computation takes too long or too much memory.
        capacity: maximum number of requests; one IP address may have half of them.
        max_per_visitor: maximum number of requests of one visitor.
        abandoned_after: seconds without a status request after which a request is dropped.
        newest_first: last in, first out, and the oldest request is dropped if the queue is full;
            otherwise each visitor's first request comes before any second one, and excess requests
            are refused.
        threads: threads of the process; 0: half the cores.
        idle_seconds: seconds without a computation after which the process ends to free its memory.
        local_only: whether its computations measure this machine, so that they must not run on
            another one.
    """

    max_results: int
    seconds: float = 0.0
    max_cpu_seconds: int = 0
    hint: str = "try again when the server is less busy"
    capacity: int = 44
    max_per_visitor: int = 20
    abandoned_after: float = 180.0
    newest_first: bool = False
    threads: int = 0
    idle_seconds: float = 5.0
    local_only: bool = False


LANES: Mapping[str, Lane] = MappingProxyType(
    {
        # A result over a thousand sentences has about 500 kB; all findings at once are 20 requests.
        "corpus": Lane(max_results=80, hint="take fewer sentences"),
        "step": Lane(
            max_results=256,
            seconds=120,
            max_cpu_seconds=20,  # it takes about one second, the first one longer
            hint="take a smaller model, or a smaller batch",
            capacity=16,
            abandoned_after=5,
            newest_first=True,
            idle_seconds=60,
            local_only=True,
        ),
    }
)


@dataclass(frozen=True)
class Computation:
    """One computation; equal requests share one result.

    Attributes:
        function: "module:name" of a function that another process calls as
            `name(arguments, progress)`. `progress(fraction, stage)` reports the progress, 0 to 1.
            It returns a JSON-serialisable dict and raises ValueError for invalid arguments.
        arguments: JSON-serialisable.
        lane: one of `LANES`.
        identity: the arguments that determine the result; default: all.
        subject: a key that several computations share; `ComputationService.latest` returns the last
            result of a subject. "": only equal requests see the result.
    """

    function: str
    arguments: Mapping[str, Any]
    lane: str = "corpus"
    identity: Sequence[Any] = ()
    subject: str = ""

    @property
    def key(self) -> str:
        """Hash of code, function and identity; the name of the result's folder."""
        content = [fingerprint(), self.function, self.identity or self.arguments]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{self.lane}-{digest[:24]}"


@lru_cache
def fingerprint(root: Path = PACKAGE, excluded: tuple[str, ...] = EXCLUDED_PACKAGES) -> str:
    """Return a hash (16 hexadecimal digits) of all Python files below `root` except the `excluded`
    packages, and of the versions of torch and numpy. Cached: a process keeps its loaded code."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    digest = hashlib.sha256(versions.encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in excluded:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def lane_of(key: str) -> str:
    """Return the name of the lane that a computation's key belongs to."""
    return key.partition("-")[0]


def report_computation(
    checkpoint: str | os.PathLike[str],
    digest: str,
    report: str,
    corpus: Corpus,
    options: Mapping[str, Any] | None = None,
) -> Computation:
    """Return the computation of a report, as `analyse --json` writes it.

    Args:
        checkpoint: folder of the checkpoint.
        digest: its `checkpoint_hash`.
        report, options: as for `analysis.reports.report`.
    """
    options = dict(options or {})
    arguments: dict[str, Any] = {"checkpoint": str(Path(checkpoint).resolve()), "hash": digest}
    arguments |= {"what": report, "options": options, "corpus": corpus.to_dict()}
    return Computation(
        "transformer.analysis.reports:compute",
        arguments,
        identity=(digest, corpus.hash, report, sorted(options.items())),
    )


def step_timing_computation(workload: Mapping[str, Any]) -> Computation:
    """Return the computation that times one training step on this machine, once per server."""
    identity = (_SERVER_ID, workload)
    return Computation("transformer.training.estimate:compute", workload, "step", identity)
