"""Files of computations: request, progress, result, and the latest result of each subject."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from transformer.text.files import read_json, try_lock, write_json

LOCK_FILE = "lock"  # held by the app that runs the computation
REQUEST, PROGRESS, RESULT, FAILED = "ask.json", "progress.json", "result.json", "failed.json"
EXIT_FAILED, EXIT_DISK_FULL = 1, 3
"""Exit codes: the computation failed; the reason of a failure could not be written."""
LATEST_FOLDER = ".last"  # a folder next to that of the results
DISK_FULL = "the disk is full; try again when there is space"

_KEY = re.compile(r"[a-z]+-[0-9a-f]+")

Status = Literal["absent", "waiting", "running", "done", "failed"]


@dataclass(frozen=True)
class ComputationStatus:
    """The status of a computation.

    Attributes:
        status: "absent": not requested, cancelled, or lost when the app ended.
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


def read_or_empty(path: Path) -> dict[str, Any]:
    """Read a JSON file; empty if it is missing or invalid."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return {}


def has_ended(folder: Path) -> bool:
    """Whether the folder has a result or the reason of a failure."""
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
        with suppress(FileNotFoundError):  # another process removed it
            lock = try_lock(folder / LOCK_FILE)
            if lock is not None:
                removed = folder
                # Rename it first, so that a new computation gets a new folder. (Windows cannot
                # rename a folder with an open file.)
                with lock, suppress(PermissionError):
                    removed = folder.rename(folder.with_name(f".going-{secrets.token_hex(6)}"))
                shutil.rmtree(removed, ignore_errors=True)


def lock_folder(folder: Path) -> BinaryIO | None:
    """Lock this folder, which is created if missing; None if it is locked already.

    If another app removes the folder between the two steps, it is created again, since a lock in a
    removed folder protects nothing. Raises OSError.
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


def remove_oldest(folders: list[Path], max_results: int, protected: Path | None = None) -> None:
    """Remove ended computations except `protected` and the `max_results` used last. Those with a
    future time, from before the clock was set back, are removed first."""
    current_time = time.time()
    ends = [
        path
        for folder in folders
        for path in (folder / RESULT, folder / FAILED)
        if folder != protected and path.is_file()
    ]
    last_used = {path: path.stat().st_mtime for path in ends}
    ends.sort(
        key=lambda path: last_used[path] if last_used[path] <= current_time + 60 else 0.0,
        reverse=True,
    )
    for path in ends[max_results - (protected is not None) :]:
        shutil.rmtree(path.parent, ignore_errors=True)


@dataclass(frozen=True)
class LatestResult:
    """A stored result.

    Attributes:
        key: key of the computation; it differs for other arguments or older code.
        measured_at: time of completion, in seconds since 1970.
        result: the result itself.
    """

    key: str
    measured_at: float
    result: dict[str, Any]


class LatestIndex:
    """The key of the latest result of each subject, in files of a hidden folder."""

    def __init__(self, root: Path, results: Path) -> None:
        """Remove entries whose result no longer exists.

        Args:
            root: the folder of runs.
            results: the folder of results.
        """
        self._folder, self._results = root / LATEST_FOLDER, results
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                if not (results / str(read_or_empty(path).get("key", "")) / RESULT).is_file():
                    path.unlink(missing_ok=True)

    def record(self, subject: str, key: str) -> None:
        """Record a new result; ignored without a subject, if it is recorded already, or if the file
        cannot be written."""
        if subject and read_or_empty(self._path(subject)).get("key") != key:
            with suppress(OSError):
                write_json(self._path(subject), {"key": key, "when": time.time()})

    def forget(self, subject: str) -> None:
        """Remove the entry of a subject, before a new result is computed."""
        with suppress(OSError):
            self._path(subject).unlink(missing_ok=True)

    def find(self, subject: str) -> LatestResult | None:
        """Return the latest result of a subject; None if not found."""
        record = read_or_empty(self._path(subject))
        key, measured_at = record.get("key"), record.get("when")
        if (
            not isinstance(key, str)
            or not _KEY.fullmatch(key)
            or not isinstance(measured_at, int | float)
        ):
            return None
        result = read_or_empty(self._results / key / RESULT)
        return LatestResult(key, float(measured_at), result) if result else None

    def _path(self, subject: str) -> Path:
        return self._folder / f"{hashlib.sha256(subject.encode()).hexdigest()[:24]}.json"
