"""Locks on files: they hold between threads and processes, and end with whoever held them.

The operating system keeps them: `kill -9` frees one, waiting for one costs nothing, and no file is
ever removed under a holder. (`filelock` waits by trying again, which costs many threads at one lock
time and processor, and falls back to files that a killed holder leaves behind.)
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

    def _take(file: BinaryIO, wait: bool) -> None:
        while True:
            try:
                file.seek(1 << 20)  # a locked byte cannot be read there: one behind all content
                return msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not wait:
                    raise
                time.sleep(0.005)

else:
    import fcntl

    def _take(file: BinaryIO, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for the lock on `path` and hold it for the block. Not reentrant. Raises OSError."""
    with path.open("ab") as file:
        _take(file, wait=True)
        yield


def attempt(path: Path) -> BinaryIO | None:
    """The lock on `path`, held until the file is closed; None if someone else has it. Raises
    OSError, for one if its folder is gone."""
    return _if_free(path.open("ab"))


def _if_free(file: BinaryIO) -> BinaryIO | None:
    try:
        _take(file, wait=False)
    except (BlockingIOError, PermissionError):
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock on `path`: nobody does where there is no such file, or none
    any more. Looks without making one; holds the lock itself for that moment. Raises OSError."""
    try:
        file = _if_free(path.open("r+b"))
    except FileNotFoundError:
        return True
    if file is None:
        return False
    file.close()
    return True


class AlreadyLockedError(OSError):
    """Another process holds the lock; `owner` is its number, as far as it is known."""

    def __init__(self, owner: str) -> None:
        super().__init__(f"locked by process {owner}")
        self.owner = owner


@contextmanager
def signed(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, which says this process's number from then on, for people to read.
    Raises AlreadyLockedError if another process holds it."""
    file = attempt(path)
    if file is None:
        raise AlreadyLockedError(path.read_text("utf-8") or "(unknown)")
    with file:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield
