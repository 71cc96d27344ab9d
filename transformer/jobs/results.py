"""The files of computations: what was asked, how it ended, and the last result on each subject."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from transformer.text.files import read_json, write_json
from transformer.training.locks import try_lock

LOCK_FILE = "lock"  # held by the app whose process computes it
REQUEST, PROGRESS, RESULT, FAILED = "ask.json", "progress.json", "result.json", "failed.json"
EXIT_FAILED, EXIT_DISK_FULL = 1, 3
"""What a process says of a computation that failed, and of one that could not even write why."""
LATEST_FOLDER = ".last"  # a folder of small files beside that of the results
DISK_FULL = "there is no room left on the disk; ask again once there is"

_KEY = re.compile(r"[a-z]+-[0-9a-f]+")

Status = Literal["absent", "waiting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True)
class ComputationStatus:
    """How a computation stands.

    Attributes:
        status: "absent": nobody asked, it was cancelled, or the app ended meanwhile; "stopped": it
            was cancelled, and what there was by then is kept.
        progress: done of it, 0 to 1; stage: what it is at.
        place: how many are before it, if it waits.
        reason: why it failed, a sentence.
        mine: whether the visitor who looks has asked for it.
        so_far: what there is of the result, if it is one that comes in parts and is not done.
    """

    key: str
    status: Status
    progress: float = 0.0
    stage: str = ""
    requests_ahead: int = 0
    reason: str = ""
    is_requester: bool = False
    so_far: Mapping[str, Any] = field(default_factory=dict)

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ("waiting", "running")


def read_or_empty(path: Path) -> dict[str, Any]:
    """What `write_json` wrote; empty if there is nothing."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return {}


def has_ended(folder: Path) -> bool:
    """Whether there is a result, or a reason why there is none."""
    return (folder / RESULT).is_file() or (folder / FAILED).is_file()


def clean_up(folder: Path) -> None:
    """Delete temporary files of a finished computation, and the folder of one without a result,
    unless another app works in it."""
    if has_ended(folder):
        for name in (REQUEST, PROGRESS):
            (folder / name).unlink(missing_ok=True)
        for partial in (path for path in folder.iterdir() if path.is_dir()):
            shutil.rmtree(partial, ignore_errors=True)
    elif folder.is_dir():
        with suppress(FileNotFoundError):  # somebody else cleared it
            lock = try_lock(folder / LOCK_FILE)
            if lock is not None:
                removed = folder
                # Out of the way first: who begins it now makes another. (Windows moves none that
                # has an open file.)
                with lock, suppress(PermissionError):
                    removed = folder.rename(folder.with_name(f".going-{secrets.token_hex(6)}"))
                shutil.rmtree(removed, ignore_errors=True)


def lock_folder(folder: Path) -> BinaryIO | None:
    """The lock of this folder, which is made if it is not there; None if somebody else has it.

    A folder that another app clears between the two steps is made again: the lock of one that has
    gone is none. Raises OSError.
    """
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            lock = try_lock(folder / LOCK_FILE)
            if lock is None:
                return None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK_FILE).stat()):
                    return lock
            lock.close()


def remove_oldest(folders: list[Path], max_results: int, new: Path | None = None) -> None:
    """Remove all of these that have ended but the `kept` that were looked at last. What was looked
    at in the future, before the clock was put back, goes first; `new` stays."""
    current_time = time.time()
    ends = [
        path
        for folder in folders
        for path in (folder / RESULT, folder / FAILED)
        if folder != new and path.is_file()
    ]
    last_used = {path: path.stat().st_mtime for path in ends}
    ends.sort(
        key=lambda path: last_used[path] if last_used[path] <= current_time + 60 else 0.0,
        reverse=True,
    )
    for path in ends[max_results - (new is not None) :]:
        shutil.rmtree(path.parent, ignore_errors=True)


@dataclass(frozen=True)
class LatestResult:
    """One of the results that are kept.

    Attributes:
        key: of the computation; of another question or an older code than today's it is another.
        when: it was done, in seconds since 1970.
        result: what was found.
    """

    key: str
    when: float
    result: dict[str, Any]


class LatestIndex:
    """A small file for each subject, in a hidden folder of the folder of runs."""

    def __init__(self, root: Path, results: Path) -> None:
        """Forgets those of which the result is gone.

        Args:
            root: the folder of runs; results: that of the results.
        """
        self._folder, self._results = root / LATEST_FOLDER, results
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                if not (results / str(read_or_empty(path).get("key", "")) / RESULT).is_file():
                    path.unlink(missing_ok=True)

    def record(self, subject: str, key: str) -> None:
        """There is a result, just now; nothing where that is known already or there is no subject,
        and where the disk takes no word."""
        if subject and read_or_empty(self._path(subject)).get("key") != key:
            with suppress(OSError):
                write_json(self._path(subject), {"key": key, "when": time.time()})

    def forget(self, subject: str) -> None:
        """The last result on it is to be another."""
        with suppress(OSError):
            self._path(subject).unlink(missing_ok=True)

    def find(self, subject: str) -> LatestResult | None:
        """The last result on it, unless it has been forgotten since."""
        record = read_or_empty(self._path(subject))
        key, when = record.get("key"), record.get("when")
        if not isinstance(key, str) or not _KEY.fullmatch(key) or not isinstance(when, int | float):
            return None
        result = read_or_empty(self._results / key / RESULT)
        return LatestResult(key, float(when), result) if result else None

    def _path(self, subject: str) -> Path:
        return self._folder / f"{hashlib.sha256(subject.encode()).hexdigest()[:24]}.json"
