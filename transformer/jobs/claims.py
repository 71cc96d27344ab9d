"""Claiming the next run of the queue, releasing it, and marking runs of dead workers as failed."""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from transformer.config import benefits_from_threads
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import queue_order
from transformer.jobs.limits import count_parameters
from transformer.jobs.queue import Queue
from transformer.run_config import TrainingRun
from transformer.text.files import try_lock
from transformer.training.errors import out_of_memory
from transformer.training.run_folder import RunError, Status


@dataclass(frozen=True)
class WorkerCapacity:
    """Capacity of one machine's workers for concurrent runs.

    Attributes:
        cores: cores of all workers together.
        threads: threads of a run with large steps; a run with small steps takes one
            (`config.benefits_from_threads`).
    """

    cores: float = math.inf
    threads: int = 1

    def can_start(self, next_run: JobFolder, running: Iterable[JobFolder]) -> bool:
        """Whether the next queued run can start while the others run. If not, no smaller run behind
        it may start either, or a large run would never get its turn."""
        busy_threads = sum(self._threads_needed(folder) for folder in running)
        return not busy_threads or busy_threads + self._threads_needed(next_run) <= self.cores

    def _threads_needed(self, folder: JobFolder) -> int:
        try:
            config = folder.config()
        except RunError:
            return 1
        if not isinstance(config, TrainingRun):
            return 1
        large = benefits_from_threads(count_parameters(config.model), config.training.batch_tokens)
        return self.threads if large else 1


UNLIMITED = WorkerCapacity()
"""For executors that allocate slots themselves."""


def new_worker_id(pool: str) -> str:
    """Return a new worker id; the pool is the set of workers of one app on one machine."""
    return f"{pool}.{secrets.token_hex(4)}"


def same_pool(worker: str, other_worker: object) -> bool:
    """Whether two worker ids belong to the same pool."""
    return (
        isinstance(other_worker, str) and worker.partition(".")[0] == other_worker.partition(".")[0]
    )


@dataclass(frozen=True)
class ClaimedRun:
    """A run held by one worker, which has its lock until `release_run`."""

    folder: JobFolder
    lock: BinaryIO


def claim_next_run(
    queue: Queue, worker: str, capacity: WorkerCapacity = UNLIMITED
) -> ClaimedRun | None:
    """Claim the next queued run and set its status to "running"; None if none is queued or the
    capacity does not allow it. Raises OSError if its state cannot be written; it then stays queued.
    """
    with queue.locked():
        infos = queue.infos()
        running = [
            JobFolder(queue.root / running_info.name)
            for running_info in infos
            if running_info.status == "running"
        ]
        same_pool_runs = [
            folder for folder in running if same_pool(worker, folder.job().get("worker"))
        ]
        for info in queue_order(infos):
            folder = JobFolder(queue.root / info.name)
            if not capacity.can_start(folder, same_pool_runs):
                return None
            lock = try_lock(folder.lock_path)
            if lock is None:  # another process is about to release it
                continue
            try:
                folder.change_job(worker=worker)
                folder.change_state("running")
            except BaseException:
                lock.close()
                raise
            return ClaimedRun(folder, lock)
    return None


def release_run(
    queue: Queue, claim: ClaimedRun, error: BaseException | None, interrupted: bool = False
) -> None:
    """Release a run after `train_run` and write its final state.

    A run that the worker `interrupted`, to pause it or because the app ends, is not cancelled: it
    is paused if its owner requested that, else queued again. Raises OSError if the state cannot be
    written; the worker then still holds the run.
    """
    folder = claim.folder
    with queue.locked():
        if folder.job().get("deleted"):
            claim.lock.close()  # first, for a system that cannot remove open files
            queue.remove(folder)
        elif final_state := _final_state(folder, error, interrupted):
            folder.change_state(*final_state)
        claim.lock.close()


def _final_state(
    folder: JobFolder, error: BaseException | None, interrupted: bool
) -> tuple[Status, str] | None:
    """Return the status and reason to write; None if the trainer has written them."""
    status, step = _status(folder), folder.last_step()
    if interrupted and status in ("running", "cancelled"):
        command = folder.control().command
        if command == "pause":
            restart = "" if folder.saved_step() >= step else f"; Resume {_restart_point(folder)}"
            return "paused", f"paused after step {step}{restart}"
        if command == "stop":
            return "cancelled", f"stopped after step {step}"
        return (
            "queued",
            f"interrupted at step {step}; {_restart_point(folder)} when a worker is free",
        )
    if error is not None and (status == "running" or out_of_memory(error)):
        return "failed", _failure_reason(folder, error)
    if status == "running":
        return "failed", f"the trainer exited without a status {_step_and_restart(folder)}"
    return None


def _status(folder: JobFolder) -> str:
    try:
        return str(folder.state().get("status"))
    except RunError:
        return "running"


def _failure_reason(folder: JobFolder, error: BaseException) -> str:
    if out_of_memory(error):
        return (
            f"out of memory at step {folder.last_step()}: start a run with a "
            f"smaller model or fewer positions per step"
        )
    if isinstance(error, OSError):
        return (
            f"a file could not be written ({error.strerror or error}) "
            f"{_step_and_restart(folder)}, once there is room"
        )
    return str(error) or type(error).__name__


def _step_and_restart(folder: JobFolder) -> str:
    return (
        f"at step {max(folder.last_step(), folder.saved_step())}; Resume {_restart_point(folder)}"
    )


def _restart_point(folder: JobFolder) -> str:
    """Return from which step training continues: the last save, even if later steps were
    trained."""
    saved = folder.saved_step()
    if saved:
        return f"continues from the save at step {saved}"
    return "starts again at step 0, since nothing was saved"


def record_worker_exit(queue: Queue, worker: str, exit_code: int) -> None:
    """Mark the run of a worker that has exited as failed. Raises OSError."""
    cause = f"was killed (signal {-exit_code})" if exit_code < 0 else f"ended (code {exit_code})"
    with queue.locked():
        for folder in list(queue.folders()):
            if folder.job().get("worker") == worker:
                _mark_failed(queue, folder, f"its worker {cause}")


def fail_orphaned_runs(queue: Queue, supervised: Collection[str]) -> None:
    """Mark runs as failed whose worker ended unsupervised, for example after the app was killed.

    The exit of the `supervised` workers is handled by their supervisor. If the state cannot be
    written, the next call tries again.
    """
    orphans = [folder for folder in queue.folders() if _is_orphan(folder, supervised)]
    if orphans:
        with suppress(OSError), queue.locked():
            for folder in orphans:
                if _is_orphan(folder, supervised):
                    _mark_failed(queue, folder, "its worker ended with the app")


def _is_orphan(folder: JobFolder, supervised: Collection[str]) -> bool:
    job = folder.job()
    if job.get("worker", "") in {"", *supervised}:
        return False
    unfinished = bool(job.get("deleted")) or _status(folder) == "running"
    return unfinished and not folder.is_held


def _mark_failed(queue: Queue, folder: JobFolder, cause: str) -> None:
    if folder.is_held:  # by a command line, or a worker of another app
        return
    if folder.job().get("deleted"):
        queue.remove(folder)
    elif _status(folder) == "running":
        folder.change_state("failed", f"{cause} {_step_and_restart(folder)}")
