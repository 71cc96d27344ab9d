"""Live training for the pages: submit, inspect, control, resume, delete and download runs."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.app_folders import data_path
from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.folder import JobFolder, archive, check_data, check_owner
from transformer.jobs.info import (
    RunInfo,
    check_sole_holder,
    find_same_run,
    read_run_info,
    run_fingerprint,
    with_queue_positions,
)
from transformer.jobs.limits import Limits
from transformer.jobs.queue import Kind, Queue
from transformer.jobs.shares import Requester
from transformer.jobs.shipped import find_shipped, shipped_infos
from transformer.jobs.worker_pool import Executor, WorkerPool
from transformer.training.run_config import PairsRun, TrainingRun
from transformer.training.run_folder import RunFolder

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

    Attributes:
        limits: what a run may use.
        queue: the runs in the folder.
        executor: what trains the queued runs.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits,
        *,
        trainer: str = TRAINER,
        executor: Callable[[Queue], Executor] = WorkerPool,
        shipped: str | os.PathLike[str] | None = None,
    ) -> None:
        """Open the folder of runs, without starting a process.

        Args:
            trainer: "module:function" that a worker calls with the run's path.
            executor: creates what trains the queued runs; default: processes of this machine.
            shipped: a folder of runs that are part of the app, if any.

        Raises JobError if the folder cannot be created or written.
        """
        self.limits = limits
        self._shipped = Path(shipped) if shipped else None
        self.queue = Queue(Path(root).resolve(), _run_kind(limits, trainer))
        self.executor = executor(self.queue)

    def start(self) -> None:
        """Start the workers, so that they are warm when a user presses Train."""
        self.executor.start()

    def close(self) -> None:
        """End the workers; a running run is saved and queued again."""
        self.executor.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        config: TrainingRun,
        owner: str,
        pairs: bytes = b"",
        *,
        address: str = "",
        first: bool = False,
        reuse: bool = False,
    ) -> str:
        """Queue a run and return its name.

        Args:
            pairs: the visitor's sentence pairs, for a run on them.
            address: network address of the owner in any notation; "" if unknown.
            first: give the run priority over all runs that do not have it.
            reuse: if there is a run with the same fingerprint, add the owner to its holders instead
                of queueing another one.

        Raises JobError if a limit is exceeded, naming it, or the data are invalid.
        """
        check_owner(owner)
        config = self._checked(config, pairs)
        with as_job_error("the run could not be written"), self.queue.locked():
            infos = self._infos()
            name = find_same_run(config, infos) if reuse else ""
            if name:
                folder = self.queue.folder(name)
                current_holders = dict.fromkeys([*folder.holders(), owner])
                is_first = first or folder.job().get("first") is True
                folder.change_job(holders=[*current_holders], first=is_first)
            else:
                name = self._add(config, owner, address, infos, pairs, first)
        self._start_workers()
        return name

    def add_trained(
        self,
        config: TrainingRun,
        owner: str,
        checkpoint: str | os.PathLike[str],
        write_history: Callable[[RunFolder], None],
        *,
        address: str = "",
    ) -> str:
        """Add a run that a browser has trained, as a finished one, and return its name.

        Args:
            checkpoint: a folder with a model of this config, which is copied.
            write_history: writes curves, film and outputs to the run's folder.

        Raises JobError as `submit`, and what `write_history` raises.
        """
        config = self._checked(config)

        def finish(folder: JobFolder) -> None:
            shutil.copytree(checkpoint, folder.checkpoint_path)
            write_history(folder)
            folder.write_state("finished", "trained in a browser", step=config.training.steps)

        with as_job_error("the run could not be written"), self.queue.locked():
            infos = self._infos()
            name = self._add(config, owner, address, infos, complete=finish)
        return name

    def _checked(self, config: TrainingRun, pairs: bytes = b"") -> TrainingRun:
        """Return the config with its minutes set. Raises JobError for an exceeded limit or invalid
        data."""
        config = self.limits.check_run(config, pairs)
        check_data(config, pairs)
        return config

    def _add(
        self,
        config: TrainingRun,
        owner: str,
        address: str,
        infos: Sequence[RunInfo],
        pairs: bytes = b"",
        first: bool = False,
        complete: Callable[[JobFolder], None] = lambda _: None,
    ) -> str:
        """Write the folder of a new run and return its name. `complete` is called with the folder
        before others can see it."""
        check_owner(owner)
        stored = [info.requested_by for info in infos]
        waiting = [info.requested_by for info in infos if info.status == "queued"]
        self.limits.check_capacity(waiting, stored, Requester(owner, address))
        self.limits.check_disk(shutil.disk_usage(self.queue.root).free)
        config = replace(config, owner=owner, created=time.time())
        content = json.dumps(config.to_dict(), allow_nan=False, indent=2) + "\n"
        turn = 1 + max((info.turn for info in infos), default=0)
        job = {"turn": turn, "address": address, "fingerprint": run_fingerprint(config)}
        if first:
            job["first"] = True
        files = {"config.json": content.encode()}
        if isinstance(config, PairsRun):
            files[config.pairs] = pairs
        folder = self.queue.add(self._new_name(config.title), files, job)
        try:
            complete(folder)
            return self.queue.publish(folder).name
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise

    def _new_name(self, title: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", title.lower())[:40].strip("-") or "run"
        while True:
            name = f"{base}-{secrets.token_hex(3)}"
            if not (self.queue.root / name).exists():
                return name

    def _infos(self) -> list[RunInfo]:
        """Return all runs with their queue positions, newest first."""
        infos = with_queue_positions(
            info for folder in self.queue.folders() if (info := read_run_info(folder))
        )
        # Turn before time, since the clock may be set back; runs of the command line have no turn.
        return sorted(infos, key=lambda info: (info.turn, info.created, info.name), reverse=True)

    def runs(self, owner: str | None = None) -> list[RunInfo]:
        """Return all runs, or those of one visitor, newest first. Raises JobError."""
        with as_job_error("the runs cannot be read"):
            self._requeue_orphans()
            return [info for info in self._infos() if owner is None or info.held_by(owner)]

    def _requeue_orphans(self, folders: Sequence[JobFolder] | None = None) -> None:
        with suppress(OSError):  # a full disk; the next call tries again
            if self.queue.requeue_orphans(folders):
                self._start_workers()

    def shipped(self) -> list[RunInfo]:
        """Return the runs that are part of the app, sorted by name."""
        return [*shipped_infos(self._shipped)] if self._shipped else []

    def run(self, name: str) -> RunInfo:
        """Return the state of one run in the queue or in the app; reads the other runs only for its
        queue position. Raises JobError if there is no such run."""
        folder = self.folder(name)
        self._requeue_orphans([folder])
        info = read_run_info(folder)
        if info is None:
            raise JobError(f"there is no run {name!r}; it may have been deleted")
        if info.status == "queued":
            return next((other for other in self.runs() if other.name == name), info)
        return info

    def folder(self, name: str) -> JobFolder:
        """Return the folder of a run in the queue or in the app, for reading. Raises JobError if
        there is no such run."""
        try:
            return self.queue.folder(name)
        except JobError:
            if self._shipped and (shipped_folder := find_shipped(self._shipped, name)):
                return shipped_folder
            raise

    @contextmanager
    def _owned_run(self, name: str, owner: str) -> Iterator[tuple[JobFolder, RunInfo]]:
        """Yield a run of the visitor, with the queue's lock held. Raises JobError if it is not
        theirs."""
        if self.folder(name).shipped:
            raise JobError(f"{name} is part of the app: it can be viewed but not changed")
        with as_job_error("the run could not be changed"), self.queue.locked():
            folder = self.queue.folder(name)
            info = read_run_info(folder)
            if info is None or not info.held_by(owner):
                raise JobError(f"{name} is not your run; only its owner can control it")
            yield folder, info

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

        A paused run is saved and frees its worker; a run without a worker changes at once. A run
        with other holders cannot be changed unless `for_all` is set. Raises JobError.
        """
        with self._owned_run(name, owner) as (folder, info):
            if not for_all and (command in ("pause", "stop") or learning_rate_factor is not None):
                check_sole_holder(info, owner)
            waits = info.status in ("queued", "paused")
            if info.status != "running" and not waits:
                raise JobError(f"{name} is {info.status}; it cannot be controlled any more")
            changes: dict[str, Any] = {"command": command} if command else {}
            if learning_rate_factor is not None:
                changes["learning_rate_factor"] = learning_rate_factor
                folder.change_job(fingerprint="")
            if save:
                changes["save"] = folder.control().save + 1
            try:
                folder.write_control(**changes)
            except ValueError as error:
                raise JobError(str(error)) from error
            if waits and command == "stop":
                folder.change_state("cancelled", f"stopped while it was {info.status}")
            elif info.status == "queued" and command == "pause":
                folder.change_state("paused", "paused before its turn")
            elif info.status == "paused" and command == "run":
                folder.change_state("queued", "waits for a worker to continue")
        if command == "run":
            self._start_workers()

    def prioritize(self, name: str, owner: str) -> None:
        """Give a queued run priority over all runs that do not have it; a page should offer this
        only to trusted users. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if info.status != "queued":
                raise JobError(
                    f"{name} is {info.status}; only queued runs can be moved to the front"
                )
            folder.change_job(first=True)

    def share(self, name: str, owner: str, shared: bool) -> None:
        """Set whether others may see the owner's run, its sentences and its model. A run on
        uploaded pairs is private by default. Raises JobError."""
        with self._owned_run(name, owner) as (folder, _):
            folder.change_job(shared=shared)

    def resume(self, name: str, owner: str) -> None:
        """Queue the owner's paused, failed or stopped run again, to continue from its last save. It
        keeps its turn, before all later runs. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if info.status == "finished":
                raise JobError(f"{name} is finished, so it cannot be resumed")
            folder.write_control(command="run")
            if info.status not in ("queued", "running"):
                folder.change_job(losses=0)
                folder.change_state("queued", "waits for a worker to continue")
        self._start_workers()

    def delete(self, name: str, owner: str) -> None:
        """Delete the owner's run; a running one is hidden at once, stopped and then removed. If it
        has other holders, only this owner is removed from them. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if other_holders := [holder for holder in info.holders if holder != owner]:
                folder.change_job(holders=other_holders)
            else:
                self.queue.discard(folder)

    def archive(self, name: str) -> bytes:
        """Return checkpoint, config and metrics as a zip file. Raises JobError if there is none
        yet."""
        return archive(self.folder(name))

    def startup_error(self) -> str:
        """Return why runs cannot start, or their ends cannot be stored, as a sentence; empty if
        they can."""
        return self.executor.startup_error()

    def _start_workers(self) -> None:
        self.executor.start()
        self.executor.wake()


def _run_kind(limits: Limits, trainer: str) -> Kind:
    return Kind(
        execute=trainer,
        saves=True,
        processes=limits.processes,
        warm=limits.workers or 1,
        threads=limits.threads,
        nice=limits.nice,
        memory=limits.memory,
    )
