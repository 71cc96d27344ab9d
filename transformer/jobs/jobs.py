"""Live training for the pages: submit, inspect, control, resume, delete and download runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from transformer.app_folders import data_path
from transformer.jobs import claims
from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.folder import JobFolder, archive
from transformer.jobs.info import RunInfo
from transformer.jobs.limits import Limits
from transformer.jobs.processes import RunExecutor
from transformer.jobs.queue import Queue
from transformer.jobs.shares import Requester
from transformer.jobs.shipped import find_shipped, shipped_infos
from transformer.jobs.worker_pool import WorkerPool
from transformer.run_config import TrainingRun

RUNS_VARIABLE = "HEADS_UP_RUNS"
"""Environment variable for the folder of runs; default: `runs/` in the app's folder, or in
`~/.heads-up/` if the app is installed."""
TRAINER = "transformer.training.train_folder:train_run"


def runs_folder() -> Path:
    """Return the folder of runs."""
    return data_path(RUNS_VARIABLE, "runs")


class Jobs(AbstractContextManager["Jobs"]):
    """The runs of one folder, for all sessions of one server. All methods are thread-safe.

    Shared runs can be seen by everyone (the page must check `RunInfo.visible_to`); only their
    owner controls them. A visitor is an id that the page chooses and stores; messages of JobError
    are shown to the visitor.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits,
        *,
        trainer: str = TRAINER,
        executor: Callable[[Queue, Limits], RunExecutor] | None = None,
        shipped: str | os.PathLike[str] | None = None,
    ) -> None:
        """Open the folder of runs, without starting a process.

        Args:
            trainer: "module:function" that a worker calls with the run's path.
            executor: creates an executor other than processes of this machine.
            shipped: a folder of runs that are part of the app, if any.

        Raises JobError if the folder cannot be created or written.
        """
        self.limits = limits
        self._shipped = Path(shipped) if shipped else None
        self._queue = Queue(Path(root).resolve())
        self._executor = (
            executor(self._queue, limits) if executor else WorkerPool(self._queue, limits, trainer)
        )
        claims.fail_orphaned_runs(self._queue, ())

    def start(self) -> None:
        """Start the workers, so that they are warm when a user presses Train."""
        self._executor.start()

    def warm_workers(self) -> int:
        """Return the number of ready workers; without one, a run starts some seconds later."""
        return self._executor.warm_workers()

    def close(self) -> None:
        """End the workers; a running run is saved and queued again."""
        self._executor.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        config: TrainingRun,
        owner: str,
        files: Mapping[str, bytes] | None = None,
        *,
        address: str = "",
        first: bool = False,
        reuse: bool = False,
    ) -> str:
        """Queue a run and return its name.

        Args:
            files: contents of files for the run folder, by name.
            address: network address of the owner in any notation; "" if unknown.
            first: give the run priority over all runs that do not have it.
            reuse: if there is a run with the same fingerprint, add the owner to its holders instead
                of queueing another one.

        Raises JobError if a limit is exceeded, naming it, or a file is invalid.
        """
        requester = Requester(owner, address)
        [name] = self._queue.add(
            [config], requester, files or {}, self.limits, first=first, reuse=reuse
        )
        self._start_workers()
        return name

    def submit_all(
        self,
        configs: Sequence[TrainingRun],
        owner: str,
        *,
        address: str = "",
        owners: Sequence[str] = (),
    ) -> list[str]:
        """Queue several runs in this order, all or none, and return their names.

        Args:
            owners: the owner of each run, if not `owner`.

        Raises JobError as `submit`.
        """
        names = self._queue.add(configs, Requester(owner, address), {}, self.limits, owners=owners)
        self._start_workers()
        return names

    def runs(self, owner: str | None = None) -> list[RunInfo]:
        """Return all runs, or those of one visitor, newest first. Raises JobError."""
        with as_job_error("the runs cannot be read"):
            claims.fail_orphaned_runs(self._queue, self._executor.supervised_workers())
            return [info for info in self._queue.infos() if owner is None or info.held_by(owner)]

    def shipped(self) -> list[RunInfo]:
        """Return the runs that are part of the app, sorted by name."""
        return shipped_infos(self._shipped) if self._shipped else []

    def run(self, name: str) -> RunInfo:
        """Return the state of one run. Raises JobError if there is no such run."""
        self._queue.folder(name)
        for info in self.runs():
            if info.name == name:
                return info
        raise JobError(f"there is no run {name!r}; it may have been deleted")

    def folder(self, name: str) -> JobFolder:
        """Return the folder of a run in the queue or in the app, for reading. Raises JobError if
        there is no such run."""
        try:
            return self._queue.folder(name)
        except JobError:
            if self._shipped and (shipped_folder := find_shipped(self._shipped, name)):
                return shipped_folder
            raise

    def control(
        self,
        name: str,
        owner: str,
        *,
        command: str = "",
        learning_rate_factor: float | None = None,
        save: bool = False,
        for_all: bool = False,
    ) -> None:
        """Send "run", "pause" or "stop" to the owner's run, change its learning rate, or save it.

        A paused run is saved and frees its worker. A run with other holders cannot be changed
        unless `for_all` is set. Raises JobError.
        """
        self._refuse_shipped(name)
        self._queue.control(name, owner, command, learning_rate_factor, save, for_all)
        if command == "run":
            self._start_workers()

    def prioritize(self, name: str, owner: str) -> None:
        """Give a queued run priority over all runs that do not have it; a page should offer this
        only to trusted users. Raises JobError."""
        self._queue.prioritize(name, owner)

    def share(self, name: str, owner: str, shared: bool) -> None:
        """Set whether others may see the owner's run, its sentences and its model. A run on
        uploaded pairs is private by default. Raises JobError."""
        self._queue.share(name, owner, shared)

    def resume(self, name: str, owner: str) -> None:
        """Queue the owner's paused, failed or stopped run again, to continue from its last save. It
        keeps its turn, before all later runs. Raises JobError."""
        self._refuse_shipped(name)
        self._queue.resume(name, owner)
        self._start_workers()

    def delete(self, name: str, owner: str) -> None:
        """Delete the owner's run; a running one is stopped first. If it has other holders, only
        this owner is removed from them. Raises JobError."""
        self._refuse_shipped(name)
        self._queue.delete(name, owner)

    def archive(self, name: str) -> bytes:
        """Return checkpoint, config and metrics as a zip file. Raises JobError if there is none
        yet."""
        return archive(self.folder(name))

    def startup_error(self) -> str:
        """Return why queued runs cannot be trained, as a sentence; empty if they can."""
        return self._executor.startup_error()

    def _refuse_shipped(self, name: str) -> None:
        if self.folder(name).shipped:
            raise JobError(f"{name} is part of the app: it can be viewed but not changed")

    def _start_workers(self) -> None:
        self._executor.start()
        self._executor.wake()
