"""One queue for all long work: each job is a folder, which a worker claims and releases.

A job's folder has its settings (config.json), its owners and position (job.json), its state
(state.json) and a lock, which its worker holds. Everything the queue knows is in these files, so
several apps may share a folder, and an app that was killed finds its jobs again.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.folder import NAME, JobFolder, int_or_zero
from transformer.jobs.shares import Requester, fair_order
from transformer.text.files import exclusive, file_error_reason, try_lock
from transformer.training.run_folder import Status, out_of_memory

_NEW_PREFIX, _REMOVED_PREFIX = ".coming-", ".going-"  # folders that are being created or removed
MAX_LOSSES = 3  # after so many lost machines or killed workers, a job fails


@dataclass(frozen=True)
class Kind:
    """A kind of jobs: what its workers call, and what one job may use.

    Attributes:
        name: prefix of the folders' names; "" for training runs, which have names of their own.
        execute: "module:function" that a worker calls with the path of a claimed job.
        saves: whether an interrupted job continues from a save, as a training run does. Other jobs
            start again, so they can be ended at any time.
        processes, warm: maximum number of workers, and how many are started in advance.
        threads: threads of a worker.
        nice: niceness of the workers.
        memory: maximum bytes of memory of a worker.
        seconds: maximum time of a job; 0: no limit.
        hint: advice to the user if a job takes too long or too much memory.
        idle_seconds: seconds without a job after which a worker ends to free its memory; 0: never.
        abandoned_after: seconds after which a job is dropped that no page asks for; 0: never.
    """

    name: str = ""
    execute: str = "transformer.jobs.computation:compute"
    saves: bool = False
    processes: int = 1
    warm: int = 0
    threads: int = 1
    nice: int = 0
    memory: int = 0
    seconds: float = 0.0
    hint: str = ""
    idle_seconds: float = 0.0
    abandoned_after: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A job, with what its position in the queue depends on.

    Attributes:
        holders: ids of the visitors who own it, in the order of their requests; never displayed.
            Empty for runs of the command line.
        turn: number in the order of submission; a resumed run keeps its own.
        first: whether it has priority over all jobs without priority.
        address: network address of the owner as the page gives it; "" if unknown.
    """

    name: str
    status: Status
    holders: tuple[str, ...] = ()
    turn: int = 0
    first: bool = False
    address: str = ""

    @property
    def owner(self) -> str:
        """The first holder, whose quota in the queue the job uses; "" if it has no holder."""
        return self.holders[0] if self.holders else ""

    @property
    def requested_by(self) -> Requester:
        return Requester(self.owner, self.address)


Item = TypeVar("Item", bound=Entry)


def queue_order(entries: Iterable[Item]) -> list[Item]:
    """Return the queued jobs, next one first: those with priority, then by `shares.fair_order`."""
    entries = sorted(entries, key=lambda entry: (entry.turn, entry.name))
    running = [entry for entry in entries if entry.status == "running"]
    waiting = [entry for entry in entries if entry.status == "queued"]
    order = fair_order(waiting, running, lambda entry: entry.requested_by)
    return sorted(order, key=lambda entry: not entry.first)


@dataclass(frozen=True)
class Claim:
    """A job held by one worker, which has its lock until `Queue.release`."""

    folder: JobFolder
    lock: BinaryIO


class Queue:
    """The jobs of one kind in one folder; safe for concurrent threads and processes."""

    def __init__(self, root: Path, kind: Kind) -> None:
        """Create the folder if needed. Raises JobError if it cannot be created or written."""
        self.root, self.kind = root, kind
        with as_job_error("the folder of runs cannot be used"):
            root.mkdir(parents=True, exist_ok=True)
            with self.locked():
                for leftover in [*root.glob(f"{_NEW_PREFIX}*"), *root.glob(f"{_REMOVED_PREFIX}*")]:
                    shutil.rmtree(leftover, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the queue's lock: within the block only a worker may change its own job's state."""
        with exclusive(self.root / ".lock"):
            yield

    def folders(self) -> Iterator[JobFolder]:
        for path in self.root.glob(f"{self.kind.name}*"):
            folder = JobFolder(path)
            if NAME.fullmatch(path.name) and folder.exists:
                yield folder

    def folder(self, name: str) -> JobFolder:
        """Return the folder of a job. Raises JobError if there is none of this name, or a link."""
        if NAME.fullmatch(name):
            folder = JobFolder(self.root / name)
            if folder.exists and not folder.path.is_symlink() and not folder.job().get("deleted"):
                return folder
        raise JobError(f"there is no run {name[:60]!r}; it may have been deleted")

    def entries(self) -> list[Entry]:
        """Return the queued and running jobs that nobody has deleted."""
        return [entry for folder in self.folders() if (entry := _read_entry(folder))]

    def _job(self, entry: Entry) -> JobFolder:
        return JobFolder(self.root / entry.name)

    def drop_abandoned(self) -> list[Entry]:
        """Remove queued jobs that no page has asked for; return the other entries. The caller holds
        the lock."""
        entries = []
        for entry in self.entries():
            if entry.status == "queued" and self.is_abandoned(self._job(entry)):
                self.remove(self._job(entry))
            else:
                entries.append(entry)
        return entries

    def is_abandoned(self, folder: JobFolder) -> bool:
        """Whether no page has asked for a job for `abandoned_after` seconds."""
        limit = self.kind.abandoned_after
        return bool(limit) and time.time() - folder.asked_at > limit

    def mark_abandoned(self, folder: JobFolder) -> bool:
        """Mark a running job as deleted if no page asks for it any more; return whether that is
        so."""
        if not self.is_abandoned(folder):
            return False
        with suppress(OSError), self.locked():
            folder.change_job(deleted=True)
        return True

    def add(self, name: str, files: Mapping[str, bytes], job: dict[str, Any]) -> JobFolder:
        """Write a new folder under a hidden name and return it; `publish` makes it a job. Raises
        OSError."""
        folder = JobFolder(self.root / f"{_NEW_PREFIX}{name}")
        try:
            folder.path.mkdir()
            for file, content in files.items():
                (folder.path / file).write_bytes(content)
            folder.change_job(**job)
            folder.lock_path.touch()
            folder.write_state("queued", "waits for a worker", step=0)
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    def publish(self, folder: JobFolder) -> JobFolder:
        """Rename a folder of `add` to its name, so that it appears complete. Raises OSError."""
        path = self.root / folder.name.removeprefix(_NEW_PREFIX)
        folder.path.rename(path)
        return JobFolder(path)

    def remove(self, folder: JobFolder) -> None:
        """Remove a folder that no worker holds; it vanishes atomically."""
        removed = self.root / f"{_REMOVED_PREFIX}{secrets.token_hex(6)}"
        with suppress(FileNotFoundError):
            folder.path.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)

    def discard(self, folder: JobFolder) -> None:
        """Remove a job; one that a worker holds is hidden at once, stopped and then removed. The
        caller holds the lock. Raises OSError."""
        if folder.is_held:
            folder.change_job(deleted=True)
            folder.write_control(command="stop")
        else:
            self.remove(folder)

    def claim_next(self, worker: str) -> Claim | None:
        """Claim the next queued job and set its status to "running"; None if none is queued. Raises
        OSError if its state cannot be written; it then stays queued."""
        with self.locked():
            for entry in queue_order(self.drop_abandoned()):
                folder = self._job(entry)
                lock = try_lock(folder.lock_path)
                if lock is None:  # another process is about to release it
                    continue
                try:
                    folder.change_job(worker=worker)
                    folder.change_state("running")
                except BaseException:
                    lock.close()
                    raise
                return Claim(folder, lock)
        return None

    def release(self, claim: Claim, error: BaseException | None, interrupted: bool = False) -> None:
        """Release a job after its function has ended, and write its final state.

        A job that the worker `interrupted`, to pause it or because the app ends, is not cancelled:
        it is paused if its owner requested that, else queued again. Raises OSError if the state
        cannot be written; the worker then still holds the job.
        """
        folder = claim.folder
        with self.locked():
            if folder.job().get("deleted"):
                claim.lock.close()  # first, for a system that cannot remove open files
                self.remove(folder)
            elif final_state := self.final_state(folder, error, interrupted):
                folder.change_state(*final_state)
            claim.lock.close()

    def final_state(
        self, folder: JobFolder, error: BaseException | None, interrupted: bool
    ) -> tuple[Status, str] | None:
        """Return the status and reason to write; None if the function has written them."""
        status = folder.status() or "running"
        if not self.kind.saves:
            if interrupted and status == "running":
                return "queued", ""
            return ("failed", _reason(error)) if status == "running" else None
        step = folder.last_step()
        if interrupted and status in ("running", "cancelled"):
            command = folder.control().command
            if command == "pause":
                resumes = folder.saved_step() >= step
                restart = "" if resumes else f"; Resume {folder.restart_point()}"
                return "paused", f"paused after step {step}{restart}"
            if command == "stop":
                return "cancelled", f"stopped after step {step}"
            return "queued", _interrupted(folder)
        if error is not None and (status == "running" or out_of_memory(error)):
            return "failed", _failure_reason(folder, error)
        if status == "running":
            return "failed", f"the trainer exited without a status {_step_and_restart(folder)}"
        return None

    def requeue_orphans(self, folders: Iterable[JobFolder] | None = None) -> bool:
        """Queue jobs again whose worker was killed; return whether there were any.

        A job that has lost its worker `MAX_LOSSES` times fails: it may be the cause. A run of the
        command line that was killed fails at once, as only its command can continue it. Raises
        OSError if a state cannot be written; the next call tries again.

        Args:
            folders: the jobs to check; default: all.
        """
        candidates = self.folders() if folders is None else folders
        orphans = [folder for folder in candidates if _is_orphan(folder)]
        if orphans:
            with self.locked():
                for folder in orphans:
                    if _is_orphan(folder):
                        self.count_loss(folder)
        return bool(orphans)

    def count_loss(self, folder: JobFolder) -> None:
        """Queue a job again whose worker was lost, or remove it if its owner has deleted it; after
        `MAX_LOSSES` it fails. The caller holds the lock. Raises OSError."""
        losses = int_or_zero(folder.job().get("losses")) + 1
        if folder.job().get("deleted"):
            return self.remove(folder)
        if not folder.job().get("worker"):
            step = folder.reached_step()
            reason = f"killed at step {step}; the same command {folder.restart_point()}"
            return folder.change_state("failed", reason)
        folder.change_job(losses=losses)
        if losses < MAX_LOSSES:
            folder.change_state("queued", _interrupted(folder))
        else:
            restart = f" {_step_and_restart(folder)}" if self.kind.saves else "; try again"
            folder.change_state("failed", f"its worker was lost {losses} times{restart}")


def _read_entry(folder: JobFolder) -> Entry | None:
    status = folder.status()
    if status != "queued" and status != "running":
        return None
    job = folder.job()
    if job.get("deleted"):
        return None
    return Entry(status=status, **position_fields(folder, job))


def position_fields(folder: JobFolder, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Entry` that are stored in job.json, whose content is `job`."""
    return {
        "name": folder.name,
        "holders": folder.holders(job),
        "turn": int_or_zero(job.get("turn")),
        "first": job.get("first") is True,
        "address": str(job.get("address") or ""),
    }


def _is_orphan(folder: JobFolder) -> bool:
    """Whether a job has begun and not ended, but no process holds it."""
    job = folder.job()
    unfinished = folder.status() == "running" or bool(job.get("deleted") and job.get("worker"))
    return unfinished and not folder.is_held


def _reason(error: BaseException | None) -> str:
    return "it ended without a result" if error is None else str(error) or type(error).__name__


def _interrupted(folder: JobFolder) -> str:
    step, restart = folder.reached_step(), folder.restart_point()
    return f"interrupted at step {step}; {restart} when a worker is free"


def _failure_reason(folder: JobFolder, error: BaseException) -> str:
    if out_of_memory(error):
        return (
            f"out of memory at step {folder.last_step()}: start a run with a "
            f"smaller model or fewer positions per step"
        )
    if isinstance(error, OSError):
        return (
            f"a file could not be written ({file_error_reason(error)}) "
            f"{_step_and_restart(folder)}, once there is room"
        )
    return _reason(error)


def _step_and_restart(folder: JobFolder) -> str:
    return f"at step {folder.reached_step()}; Resume {folder.restart_point()}"
