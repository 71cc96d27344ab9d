"""Computations: jobs without saves, whose result a page waits for.

    computing = ComputationService(runs_folder(), limits)
    key = computing.submit(report_computation(folder, model.hash, "heads", corpus), visitor="…")
    computing.status(key).status   # on every rerun, in any session
    computing.result(key)        # what `analyse --json` writes, once it is "done"

A computation's folder, named after its key, has these files besides those of a job:

    config.json    {"function", "arguments", "subject"}; when it is done {"subject", "when"}
    progress.json  {"progress", "stage"}
    result.json    the result
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from transformer.app_folders import PACKAGE
from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.folder import JobFolder
from transformer.jobs.limits import Limits, cores
from transformer.jobs.queue import Entry, Kind, Queue, queue_order
from transformer.jobs.shares import Requester, address_quota, check_quotas
from transformer.jobs.worker_pool import Executor, WorkerPool
from transformer.text.files import read_json, read_json_or_empty, write_json
from transformer.training.run_folder import out_of_memory

if TYPE_CHECKING:
    from transformer.analysis.corpora import Corpus

EXCLUDED_PACKAGES = ("cli", "cluster", "jobs", "ui")
"""Packages that only request or display results; changes in them do not invalidate stored
results."""
KIND = Kind("corpus", hint="take fewer sentences", idle_seconds=5, abandoned_after=180)
"""The kind of all computations, without the operator's limits."""
CAPACITY, MAX_PER_VISITOR = 44, 20
"""Maximum unfinished computations in all and of one visitor; all findings at once are 20."""
MAX_RESULTS = 80
"""Number of results to keep; one over a thousand sentences has about 500 kB."""


@dataclass(frozen=True)
class Computation:
    """One computation; equal requests share one result.

    Attributes:
        function: "module:name" of a function that another process calls as
            `name(arguments, progress)`. `progress(fraction, stage)` reports the progress, 0 to 1.
            It returns a JSON-serialisable dict and raises ValueError for invalid arguments.
        arguments: JSON-serialisable. Folders of checkpoints are "checkpoint", or the first of each
            pair in "models": a cluster sends these to the machine that computes.
        identity: the arguments that determine the result; default: all.
        subject: a key that several computations share; `ComputationService.latest` has the last
            result of each. "": only equal requests see the result.
    """

    function: str
    arguments: Mapping[str, Any]
    identity: Sequence[Any] = ()
    subject: str = ""

    @property
    def key(self) -> str:
        """Hash of code, function and identity; the name of the result's folder."""
        content = [fingerprint(), self.function, self.identity or self.arguments]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{KIND.name}-{digest[:24]}"


@lru_cache
def fingerprint(root: Path = PACKAGE) -> str:
    """Return a hash (16 hexadecimal digits) of all Python files below `root`, except
    `EXCLUDED_PACKAGES`, and of the versions of torch and numpy. Cached: a process keeps its loaded
    code."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    digest = hashlib.sha256(versions.encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in EXCLUDED_PACKAGES:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def report_computation(
    checkpoint: str | os.PathLike[str], digest: str, report: str, corpus: Corpus
) -> Computation:
    """Return the computation of a report, as `analyse --json` writes it.

    Args:
        checkpoint: folder of the checkpoint.
        digest: its `checkpoint_hash`.
        report: one of `analysis.reports.REPORTS`.
    """
    arguments: dict[str, Any] = {"checkpoint": str(Path(checkpoint).resolve()), "hash": digest}
    arguments |= {"what": report, "options": {}, "corpus": corpus.to_dict()}
    return Computation(
        "transformer.analysis.reports:compute", arguments, identity=(digest, corpus.hash, report)
    )


RESULTS_FOLDER = ".results"
"""Hidden subfolder of the folder of runs, with the computations."""
PROGRESS, RESULT = "progress.json", "result.json"
PROGRESS_SECONDS = 0.2  # minimum seconds between two writes of the progress
DISK_FULL = "the disk is full; try again when there is space"
DEFAULT_LIMITS = Limits()
Status = Literal["absent", "waiting", "running", "done", "failed"]


@dataclass(frozen=True)
class ComputationStatus:
    """The status of a computation.

    Attributes:
        status: "absent": not requested, cancelled, or dropped because no page asked for it.
        progress: fraction done, 0 to 1.
        stage: the current stage.
        requests_ahead: number of requests before it, if it is waiting.
        reason: why it failed, as a sentence.
        is_requester: whether the visitor who asks for the status has requested it.
    """

    key: str
    status: Status
    progress: float = 0.0
    stage: str = ""
    requests_ahead: int = 0
    reason: str = ""
    is_requester: bool = False

    @property
    def live(self) -> bool:
        """Whether it is waiting or running."""
        return self.status in ("waiting", "running")


class LatestResult(NamedTuple):
    """When a result was completed, in seconds since 1970, and the key of its computation, which
    differs for other arguments or older code."""

    measured_at: float
    key: str


def compute(path: Path) -> None:
    """Execute the computation in this folder and write its result and state, in a worker.

    Raises JobError with the reason, without paths of this machine; MemoryError or torch's
    equivalent.
    """
    folder, config = JobFolder(path), read_json(path / "config.json")
    module, name = config["function"].split(":")
    written_at = 0.0

    def progress(fraction: float, stage: str) -> None:
        nonlocal written_at
        if time.monotonic() >= written_at + PROGRESS_SECONDS:
            written_at = time.monotonic()
            with suppress(OSError):  # the disk was full; there may be space now
                write_json(path / PROGRESS, {"progress": fraction, "stage": stage})

    try:
        (path / PROGRESS).unlink(missing_ok=True)
        function = getattr(importlib.import_module(module), name)
        result = function(config["arguments"], progress)
        # The sentences are not kept.
        write_json(path / "config.json", {"subject": config["subject"], "when": time.time()})
        write_json(path / RESULT, result)
        folder.change_state("finished")
    except (ValueError, OSError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        if isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise JobError(DISK_FULL if full else str(error.strerror or error)) from error
        raise JobError(str(error) or type(error).__name__) from error


class ComputationService(AbstractContextManager["ComputationService"]):
    """The computations of one folder, for all sessions of one server. All methods are thread-safe.

    Equal requests of two visitors are one computation, and everyone can read the result. Its owners
    are the visitors who wait for it.

    Attributes:
        queue: the computations in the folder.
        executor: what executes them.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        kind: Kind = KIND,
        executor: Callable[[Queue], Executor] = WorkerPool,
    ) -> None:
        """Open the folder of results.

        Args:
            root: the folder of runs; results are in a hidden subfolder.
            limits: maximum time and memory of a computation, and its priority.
            executor: creates what executes the computations.

        Raises JobError if the folder cannot be created or written.
        """
        self._root = Path(root).resolve()
        self.queue = Queue(self._root / RESULTS_FOLDER, _with_limits(kind, limits))
        self.executor = executor(self.queue)

    def submit(self, computation: Computation, *, visitor: str, address: str = "") -> str:
        """Queue a computation unless its result exists; return its key.

        Args:
            visitor, address: who requests it (and may cancel it), and from which address.

        Raises JobError if there are too many requests, in total, of this visitor or this address,
        or the request cannot be written.
        """
        key, queue = computation.key, self.queue
        folder = self._folder(key)
        if self._result_path(key).is_file():
            return key
        with as_job_error("the measurement could not be requested"), queue.locked():
            entries = queue.drop_abandoned()
            if folder.status() in ("queued", "running"):
                visitors = dict.fromkeys([*folder.holders(), visitor])
                folder.change_job(holders=[*visitors], deleted=False)
                folder.write_control(command="run")
            else:
                _check_capacity(entries, Requester(visitor, address))
                config: dict[str, Any] = {"function": computation.function}
                config |= {"arguments": dict(computation.arguments), "subject": computation.subject}
                turn = 1 + max((entry.turn for entry in entries), default=0)
                job = {"turn": turn, "holders": [visitor], "address": address}
                new = queue.add(key, {"config.json": json.dumps(config).encode()}, job)
                queue.remove(folder)
                queue.publish(new)
                remove_oldest(queue.folders(), MAX_RESULTS)
        self.executor.wake()
        return key

    def status(self, key: str, visitor: str = "") -> ComputationStatus:
        """Return the status, for a page to show at every rerun."""
        if self._result_path(key).is_file():
            return ComputationStatus(key, "done", 1.0)
        folder, queue, executor = self._folder(key), self.queue, self.executor
        status, job = folder.status(), folder.job()
        if status in ("queued", "running") and not job.get("deleted"):
            if error := executor.startup_error():
                return ComputationStatus(key, "failed", reason=f"{error}; try again")
            is_requester = visitor in folder.holders(job)
            if is_requester:
                folder.mark_asked()
            ahead = 0
            if status == "running":
                with suppress(OSError):
                    queue.requeue_orphans([folder])
            else:
                executor.wake()  # it may be of an earlier server
                entries = queue.entries()
                names = [entry.name for entry in queue_order(entries)]
                running = sum(entry.status == "running" for entry in entries)
                ahead = running + (names.index(key) if key in names else 0)
            if ahead:
                return ComputationStatus(
                    key, "waiting", requests_ahead=ahead, is_requester=is_requester
                )
            reported = read_json_or_empty(folder.path / PROGRESS)
            done, stage = reported.get("progress", 0.0), reported.get("stage", "starting")
            return ComputationStatus(
                key, "running", float(done), str(stage), is_requester=is_requester
            )
        if status == "failed":
            return ComputationStatus(key, "failed", reason=str(folder.state().get("reason")))
        return ComputationStatus(key, "absent")

    def result(self, key: str) -> dict[str, Any]:
        """Return the result. Raises JobError if it is not stored (any more)."""
        path = self._result_path(key)
        result_content = read_json_or_empty(path)
        if not result_content:
            raise JobError("this measurement is no longer stored; request it again")
        with suppress(OSError):
            os.utime(path)  # marks it as used last
        return result_content

    def latest(self) -> dict[str, LatestResult]:
        """Return the last stored result of each subject, of any computation."""
        latest: dict[str, LatestResult] = {}
        for path in (self._root / RESULTS_FOLDER).glob(f"*/{RESULT}"):
            with suppress(OSError):  # removed meanwhile
                config = path.with_name("config.json")
                subject, result = _subject_and_result(config, config.stat().st_mtime_ns)
                if subject:
                    latest[subject] = max(result, latest.get(subject, result))
        return latest

    def cancel(self, key: str, visitor: str) -> None:
        """Withdraw a visitor's request; the computation is cancelled if no other visitor has
        requested it."""
        folder, queue = self._folder(key), self.queue
        with as_job_error("the measurement could not be cancelled"), queue.locked():
            holders, status = folder.holders(), folder.status()
            if status not in ("queued", "running") or visitor not in holders:
                return
            if others := [holder for holder in holders if holder != visitor]:
                folder.change_job(holders=others)
            else:
                queue.discard(folder)

    def close(self) -> None:
        """End the workers; computations that they executed are queued again."""
        self.executor.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _folder(self, key: str) -> JobFolder:
        return JobFolder(self._root / RESULTS_FOLDER / key)

    def _result_path(self, key: str) -> Path:
        return self._root / RESULTS_FOLDER / key / RESULT


def _check_capacity(entries: Sequence[Entry], requester: Requester) -> None:
    """Raise JobError if there are too many unfinished computations for another one."""
    check_quotas(
        [entry.requested_by for entry in entries],
        requester,
        "wait for one, or cancel one of yours",
        visitor=(MAX_PER_VISITOR, "you have {} measurements in progress"),
        address=(address_quota(CAPACITY), "{} measurements from your address are in progress"),
        total=(CAPACITY, "{} measurements are in progress"),
    )


def _with_limits(kind: Kind, limits: Limits) -> Kind:
    return replace(
        kind,
        nice=limits.nice,
        memory=limits.memory,
        threads=max(1, cores() // 2),
        seconds=60 * limits.pass_minutes,
    )


@lru_cache(maxsize=4096)
def _subject_and_result(config: Path, modified_at: int) -> tuple[str, LatestResult]:
    """Read the subject of a completed computation ("" for none); again only if the file changes."""
    content = read_json_or_empty(config)
    subject, measured_at = content.get("subject"), content.get("when")
    if not isinstance(subject, str) or not isinstance(measured_at, int | float):
        subject, measured_at = "", 0.0
    return subject, LatestResult(float(measured_at), config.parent.name)


def remove_oldest(folders: Iterable[JobFolder], max_results: int) -> None:
    """Remove ended computations except those used last."""
    ended = [folder for folder in folders if folder.status() not in ("queued", "running")]
    for folder in sorted(ended, key=_last_used, reverse=True)[max_results:]:
        shutil.rmtree(folder.path, ignore_errors=True)


def _last_used(folder: JobFolder) -> float:
    """Return when a result was read last, or when a computation without one ended."""
    for name in (RESULT, "state.json"):
        with suppress(OSError):
            return (folder.path / name).stat().st_mtime
    return 0.0
