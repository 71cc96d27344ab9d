"""File locks between threads and processes, released when their holder exits.

The operating system manages the locks: `kill -9` releases one, waiting needs no polling, and lock
files are never deleted. (`filelock` polls, which is slow with many threads waiting, and can fall
back to lock files that remain after a holder was killed.)
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: BinaryIO, wait: bool) -> None:
        while True:
            try:
                file.seek(
                    1 << 20
                )  # Windows forbids reading a locked byte: use one past the content
                return msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not wait:
                    raise
                time.sleep(0.005)

else:
    import fcntl

    def _lock_file(file: BinaryIO, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for the lock on `path` and hold it during the block. Not reentrant. Raises OSError."""
    with path.open("ab") as file:
        _lock_file(file, wait=True)
        yield


def try_lock(path: Path) -> BinaryIO | None:
    """Return the open, locked file `path`, or None if it is locked; closing it releases the lock.

    Raises OSError, for example if its folder does not exist.
    """
    return _lock_if_free(path.open("ab"))


def _lock_if_free(file: BinaryIO) -> BinaryIO | None:
    try:
        _lock_file(file, wait=False)
    except (BlockingIOError, PermissionError):
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file


def is_free(path: Path) -> bool:
    """Return whether the lock on `path` is free, as it is if the file does not exist.

    Does not create the file; holds the lock for a moment to test it. Raises OSError.
    """
    try:
        file = _lock_if_free(path.open("r+b"))
    except FileNotFoundError:
        return True
    if file is None:
        return False
    file.close()
    return True


class AlreadyLockedError(OSError):
    """Another process holds the lock; `owner` is its process id, or "(unknown)"."""

    def __init__(self, owner: str) -> None:
        super().__init__(f"locked by process {owner}")
        self.owner = owner


@contextmanager
def pid_lock(path: Path) -> Iterator[None]:
    """Hold the lock on `path` and write this process's id into the file, for people to read.

    Raises AlreadyLockedError if another process holds the lock.
    """
    file = try_lock(path)
    if file is None:
        raise AlreadyLockedError(path.read_text("utf-8") or "(unknown)")
    with file:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield
