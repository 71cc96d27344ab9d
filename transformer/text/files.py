"""Atomic writing of files and folders, reading of JSON, and locks between processes."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder and rename it to `path` when the block succeeds.

    On any error, including a keyboard interrupt, the temporary file is removed and an existing
    `path` stays unchanged. A missing folder is created. A link stays a link to the new file, and an
    existing file keeps its mode. A pipe or a device is yielded itself. Raises OSError, also for a
    link that leads to itself.
    """
    if _is_special(Path(path)):
        yield Path(path)
        return
    final = Path(os.path.realpath(path))
    if final.is_symlink():
        raise OSError(errno.ELOOP, "the link leads to itself", str(path))
    final.parent.mkdir(parents=True, exist_ok=True)
    # A unique name: two processes or threads may write the same file.
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        if final.is_file():
            temporary.touch(mode=0o600)
            temporary.chmod(stat.S_IMODE(final.stat().st_mode))
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe, a socket, a device, or a name for an open file of the process."""
    if path.parts[:2] in (("/", "dev"), ("/", "proc")):
        return path.exists()
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically, in UTF-8. Raises OSError."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, values: Any, indent: int | None = None) -> None:
    """Write JSON atomically. Raises OSError, or ValueError for values JSON cannot represent."""
    write_text(path, f"{json.dumps(values, allow_nan=False, indent=indent)}\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object. Raises OSError, or ValueError if the file contains anything else."""
    try:
        values = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(values, dict):
        raise ValueError(f"it must contain a JSON object, not {type(values).__name__}")
    return values


def read_json_or_empty(path: Path) -> dict[str, Any]:
    """Read one JSON object; empty if the file is missing or contains anything else."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return {}


class Stamp(NamedTuple):
    """A version of a file: size in bytes, time in nanoseconds, and inode number, which differs
    after a replacement and stays the same when lines are appended."""

    size: int
    time: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


def file_stamp(path: Path) -> Stamp | None:
    """Return the current version of a file; None if it cannot be read."""
    try:
        return Stamp.of(path.stat())
    except OSError:
        return None


def file_error_reason(error: OSError) -> str:
    """Return why a file could not be written, such as "No space left on device", without its path.

    Libraries raise errors that name the system's number in their text only.
    """
    number = re.search(r"\b(?:os error|errno) (\d+)", str(error))
    code = error.errno or (int(number[1]) if number else 0)
    return os.strerror(code) if code else error.strerror or str(error)


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder and rename it to `path` when the block succeeds. On any error nothing
    remains. Raises FileExistsError if `path` exists."""
    final = Path(path)
    if final.exists() or final.is_symlink():
        raise FileExistsError(f"{final} already exists; give another name, or remove it")
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as parent:
        folder = Path(parent) / "made"
        folder.mkdir()
        yield folder
        os.rename(folder, final)


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock an open file until it is closed. Raises BlockingIOError or PermissionError if it is
    locked and `wait` is false.

    The operating system manages the locks: `kill -9` releases one, waiting needs no polling, and
    lock files are never deleted. (`filelock` polls, which is slow with many threads waiting, and
    can fall back to lock files that remain after a holder was killed.)
    """
    if sys.platform == "win32":
        while True:
            try:
                file.seek(1 << 20)  # Windows forbids reading a locked byte: take a later one
                return msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not wait:
                    raise
                time.sleep(0.005)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for the lock on `path` and hold it during the block. Not reentrant. Raises OSError."""
    with path.open("ab") as file:
        _lock(file, wait=True)
        yield


def try_lock(path: Path, mode: Literal["ab", "r+b"] = "ab") -> BinaryIO | None:
    """Return the open, locked file `path`, or None if it is locked; closing it releases the lock.

    Raises OSError, for example if its folder does not exist.
    """
    file: BinaryIO = path.open(mode)
    try:
        _lock(file, wait=False)
    except BaseException as error:
        file.close()
        if isinstance(error, BlockingIOError | PermissionError):
            return None
        raise
    return file


def is_free(path: Path) -> bool:
    """Return whether the lock on `path` is free, as it is if the file does not exist.

    Does not create the file; holds the lock for a moment to test it. Raises OSError.
    """
    try:
        file = try_lock(path, "r+b")
    except FileNotFoundError:
        return True
    if file is None:
        return False
    file.close()
    return True
