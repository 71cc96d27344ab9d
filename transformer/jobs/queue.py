"""The queue of runs: all its state is in the run folders; it does not manage processes."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from transformer.jobs.computation import fingerprint
from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.folder import NAME, JobFolder, check_files, check_owner
from transformer.jobs.info import (
    RunInfo,
    check_sole_holder,
    find_same_run,
    holders,
    read_run_info,
    with_queue_positions,
)
from transformer.jobs.limits import Limits
from transformer.jobs.shares import Requester
from transformer.run_config import TrainingRun
from transformer.text.files import exclusive
from transformer.training.run_folder import Command

_NEW_PREFIX, _REMOVED_PREFIX = (
    ".coming-",
    ".going-",
)  # hidden folders that are being created or removed


class Queue:
    """The runs of one folder; safe for concurrent threads and processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with as_job_error("the folder of runs cannot be used"):
            root.mkdir(parents=True, exist_ok=True)
            with self.locked():
                for leftover in [*root.glob(f"{_NEW_PREFIX}*"), *root.glob(f"{_REMOVED_PREFIX}*")]:
                    shutil.rmtree(leftover, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the queue's lock: within the block only a trainer may change its own run's state."""
        with exclusive(self.root / ".lock"):
            yield

    def folders(self) -> Iterator[JobFolder]:
        for path in self.root.iterdir():
            folder = JobFolder(path)
            if NAME.fullmatch(path.name) and folder.exists:
                yield folder

    def infos(self) -> list[RunInfo]:
        """Return all runs with their queue positions, newest first."""
        infos = with_queue_positions(
            info for folder in self.folders() if (info := read_run_info(folder))
        )
        # Turn before time, since the clock may be set back; runs of the command line have no turn.
        return sorted(infos, key=lambda info: (info.turn, info.created, info.name), reverse=True)

    def folder(self, name: str) -> JobFolder:
        """Return the folder of a run. Raises JobError if there is no run of this name, or a
        link."""
        if NAME.fullmatch(name):
            folder = JobFolder(self.root / name)
            if folder.exists and not folder.path.is_symlink() and not folder.job().get("deleted"):
                return folder
        raise JobError(f"there is no run {name[:60]!r}; it may have been deleted")

    def add(
        self,
        configs: Sequence[TrainingRun],
        requester: Requester,
        files: Mapping[str, bytes],
        limits: Limits,
        *,
        first: bool = False,
        reuse: bool = False,
        owners: Sequence[str] = (),
    ) -> list[str]:
        """Queue runs, all or none, and return their names; `files` are written to each folder.

        With `first`, the runs have priority. With `owners`, each run belongs to the visitor at its
        index, and counts towards that visitor's limit afterwards. With `reuse`, an existing run
        with the same fingerprint is used instead: the visitor becomes one of its holders.

        The folders are written under hidden names and then renamed, so that each appears complete.
        Raises JobError if a limit is exceeded, a file is invalid or a folder cannot be written.
        """
        run_owners = owners or [requester.visitor] * len(configs)
        for owner in (requester.visitor, *run_owners):
            check_owner(owner)
        configs = [limits.check_run(config, files) for config in configs]
        for config in configs:
            check_files(config, files)
        new_folders: list[JobFolder] = []
        with as_job_error("the run could not be written"), self.locked():
            infos = self.infos()
            if reuse and (same := self._find_same_runs(configs, infos)):
                for folder in same:
                    self._add_holder(folder, requester.visitor, first)
                return [folder.name for folder in same]
            stored = [Requester(info.owner, info.address) for info in infos]
            waiting = [Requester(i.owner, i.address) for i in infos if i.status == "queued"]
            limits.check_capacity(waiting, stored, requester, len(configs))
            limits.check_disk(shutil.disk_usage(self.root).free)
            next_turn = 1 + max((info.turn for info in infos), default=0)
            try:
                for index, (config, owner) in enumerate(zip(configs, run_owners, strict=True)):
                    name = self._new_name(config.title)
                    new_folders.append(JobFolder(self.root / f"{_NEW_PREFIX}{name}"))
                    owner_at_address = Requester(owner, requester.address)
                    self._write(new_folders[-1], config, files, owner_at_address, next_turn + index)
                    if first:
                        new_folders[-1].change_job(first=True)
                    if owner != requester.visitor:
                        new_folders[-1].change_job(requester=requester.visitor)
                for index, folder in enumerate(new_folders):
                    final_path = self.root / folder.name.removeprefix(_NEW_PREFIX)
                    folder.path.rename(final_path)
                    new_folders[index] = JobFolder(final_path)
            except BaseException:
                for folder in new_folders:
                    shutil.rmtree(folder.path, ignore_errors=True)
                raise
        return [folder.name for folder in new_folders]

    def _write(
        self,
        folder: JobFolder,
        config: TrainingRun,
        files: Mapping[str, bytes],
        owner: Requester,
        turn: int,
    ) -> None:
        folder.path.mkdir()
        for file, content in files.items():
            (folder.path / file).write_bytes(content)
        folder.write_config(replace(config, owner=owner.visitor, created=time.time()))
        folder.change_job(turn=turn, address=owner.address, code=fingerprint())
        folder.lock_path.touch()
        folder.write_state("queued", "waits for a worker", step=0)

    def _find_same_runs(
        self, configs: Sequence[TrainingRun], infos: Sequence[RunInfo]
    ) -> list[JobFolder] | None:
        """Return an existing run with the same fingerprint for each config; None if one has
        none."""
        folders = {info.name: JobFolder(self.root / info.name) for info in infos}
        same_folders = [
            folder for config in configs if (folder := find_same_run(config, infos, folders))
        ]
        return same_folders if len(same_folders) == len(configs) else None

    def _add_holder(self, folder: JobFolder, visitor: str, first: bool) -> None:
        job = folder.job()
        current_holders = dict.fromkeys([*holders(folder.config(), job), visitor])
        folder.change_job(holders=[*current_holders], first=first or job.get("first") is True)

    def _new_name(self, title: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", title.lower())[:40].strip("-") or "run"
        while True:
            name = f"{base}-{secrets.token_hex(3)}"
            if not (self.root / name).exists():
                return name

    @contextmanager
    def _owned_run(self, name: str, owner: str) -> Iterator[tuple[JobFolder, RunInfo]]:
        """Yield a run of the visitor, with the lock held. Raises JobError if it is not theirs."""
        with as_job_error("the run could not be changed"), self.locked():
            folder = self.folder(name)
            info = read_run_info(folder)
            if info is None or not info.held_by(owner):
                raise JobError(f"{name} is not your run; only its owner can control it")
            yield folder, info

    def control(
        self,
        name: str,
        owner: str,
        command: str,
        learning_rate_factor: float | None,
        save: bool,
        for_all: bool,
    ) -> None:
        """Write a control command; a run without a worker changes at once. Raises JobError."""
        if command not in ("", *get_args(Command)):
            raise JobError(f"the command must be run, pause or stop, not {command!r}")
        with self._owned_run(name, owner) as (folder, info):
            if not for_all and (command in ("pause", "stop") or learning_rate_factor is not None):
                check_sole_holder(info, owner)
            waits = info.status in ("queued", "paused")
            if info.status != "running" and not waits:
                raise JobError(f"{name} is {info.status}; it cannot be controlled any more")
            changes: dict[str, Any] = {"command": command} if command else {}
            if learning_rate_factor is not None:
                changes["learning_rate_factor"] = learning_rate_factor
                folder.change_job(changed=True)
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

    def prioritize(self, name: str, owner: str) -> None:
        """Give a queued run priority over all runs that do not have it. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if info.status != "queued":
                raise JobError(
                    f"{name} is {info.status}; only queued runs can be moved to the front"
                )
            folder.change_job(first=True)

    def share(self, name: str, owner: str, shared: bool) -> None:
        """Set whether others may see the owner's run. Raises JobError."""
        with self._owned_run(name, owner) as (folder, _):
            folder.change_job(shared=shared)

    def resume(self, name: str, owner: str) -> None:
        """Queue the run again with its old turn. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if info.status == "finished":
                raise JobError(f"{name} is finished, so it cannot be resumed")
            folder.write_control(command="run")
            if info.status not in ("queued", "running"):
                folder.change_state("queued", "waits for a worker to continue")

    def delete(self, name: str, owner: str) -> None:
        """Hide the run at once and remove it from the disk when no worker holds it; if it has other
        holders, only remove this owner from them. Raises JobError."""
        with self._owned_run(name, owner) as (folder, info):
            if other_holders := [holder for holder in info.holders if holder != owner]:
                folder.change_job(holders=other_holders)
            elif folder.is_held:
                folder.change_job(deleted=True)
                folder.write_control(command="stop")
            else:
                self.remove(folder)

    def remove(self, folder: JobFolder) -> None:
        """Remove a folder that no worker holds; it vanishes atomically."""
        removed = self.root / f"{_REMOVED_PREFIX}{secrets.token_hex(6)}"
        folder.path.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
