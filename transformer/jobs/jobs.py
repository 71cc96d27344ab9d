"""What a page may ask of live training: begin, look, control, resume, delete, take home."""

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
"""Environment variable: the folder of the runs, instead of `runs/` beside the app, or in
`.heads-up/` of the user's home where it is installed."""
TRAINER = "transformer.training.train_folder:train_run"


def runs_folder() -> Path:
    """Where runs lie."""
    return data_path(RUNS_VARIABLE, "runs")


class Jobs(AbstractContextManager["Jobs"]):
    """The runs of one folder, for all sessions of one server; every method is safe in any thread.

    Anyone may look at a run that is shared (`RunInfo.visible_to`; the page asks it); its owner
    controls it. A visitor is an id that the page makes and keeps; every JobError is a sentence
    for them.
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
        """Find the runs of `root` again; no process starts yet.

        Args:
            trainer: "module:function" that a worker calls with the run's path.
            executor: makes another executor than processes of this machine.
            shipped: a folder of runs that came with the app, if there is one.

        Raises JobError if the folder cannot be made or written to.
        """
        self.limits = limits
        self._shipped = Path(shipped) if shipped else None
        self._queue = Queue(Path(root).resolve())
        self._executor = (
            executor(self._queue, limits) if executor else WorkerPool(self._queue, limits, trainer)
        )
        claims.fail_orphaned_runs(self._queue, ())

    def start(self) -> None:
        """Start the workers, so that they are warm when somebody presses Train."""
        self._executor.start()

    def warm_workers(self) -> int:
        """How many workers are ready: with none, the first step comes some seconds later."""
        return self._executor.warm_workers()

    def close(self) -> None:
        """End the workers; a run that was training is saved and waits in line again."""
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
        """Put a run in line and return its name.

        Args:
            files: lie in the run folder beside it, by name.
            address: where the owner asks from, in whatever words; "" if it is not known.
            first: it stands before all that are not, whoever came before.
            once: where the same is computed already, or waits to be, that run is the owner's too,
                and nothing is put in line.

        Raises JobError when a limit is passed, with both numbers, or a file is wrong.
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
        """Put several runs in line in this order, all or none; their names.

        Args:
            dealt: for each run the visitor whose it is, if it is not the one who asks.

        Raises JobError as `submit`.
        """
        names = self._queue.add(configs, Requester(owner, address), {}, self.limits, owners=owners)
        self._start_workers()
        return names

    def runs(self, owner: str | None = None) -> list[RunInfo]:
        """All runs, or one visitor's, the newest first. Raises JobError."""
        with as_job_error("the runs cannot be read"):
            claims.fail_orphaned_runs(self._queue, self._executor.supervised_workers())
            return [info for info in self._queue.infos() if owner is None or info.held_by(owner)]

    def shipped(self) -> list[RunInfo]:
        """The runs that came with the app, by name."""
        return shipped_infos(self._shipped) if self._shipped else []

    def run(self, name: str) -> RunInfo:
        """One run as it stands. Raises JobError if there is none of this name."""
        self._queue.folder(name)
        for info in self.runs():
            if info.name == name:
                return info
        raise JobError(f"there is no run {name!r}; it may have been deleted")

    def folder(self, name: str) -> JobFolder:
        """The run's files, to read: of the queue's, or else of those that came with the app. Raises
        JobError if there is none of this name."""
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
        """Tell one's own run to "run", "pause" or "stop", to change its learning rate, to save.

        A paused run is saved and gives its worker to the next in line. What others have too goes on
        as it is, unless this is said `for_all` of them. Raises JobError.
        """
        self._refuse_shipped(name)
        self._queue.control(name, owner, command, learning_rate_factor, save, for_all)
        if command == "run":
            self._start_workers()

    def prioritize(self, name: str, owner: str) -> None:
        """Before all in line that are not first already; for a page to offer to whom it trusts.
        Raises JobError."""
        self._queue.prioritize(name, owner)

    def share(self, name: str, owner: str, shared: bool) -> None:
        """Let others see one's own run, its sentences and its model, or no longer. A run on pairs
        of its owner's is private at first. Raises JobError."""
        self._queue.share(name, owner, shared)

    def resume(self, name: str, owner: str) -> None:
        """Go on with one's own run that paused, failed or was stopped, from its last save. It
        stands in line where it stood, before all that came later. Raises JobError."""
        self._refuse_shipped(name)
        self._queue.resume(name, owner)
        self._start_workers()

    def delete(self, name: str, owner: str) -> None:
        """Remove one's own run for good; one that trains is stopped first. What others have too is
        theirs alone from then on. Raises JobError."""
        self._refuse_shipped(name)
        self._queue.delete(name, owner)

    def archive(self, name: str) -> bytes:
        """Checkpoint, config and metrics as a zip. Raises JobError if there is none yet."""
        return archive(self.folder(name))

    def startup_error(self) -> str:
        """Why nothing trains although runs wait, a sentence; empty if all is well."""
        return self._executor.startup_error()

    def _refuse_shipped(self, name: str) -> None:
        if self.folder(name).shipped:
            raise JobError(
                f"{name} came with the app: anyone may look at it, and nobody changes it"
            )

    def _start_workers(self) -> None:
        self._executor.start()
        self._executor.wake()
