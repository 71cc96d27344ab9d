"""What a training process is to the rest of the machine: alone in its folder, and easy to stop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _take(file: BinaryIO) -> None:
        file.seek(1 << 20)  # a locked byte cannot be read there, so one behind the number
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class AlreadyLockedError(OSError):
    """Another process holds the lock; `owner` is its number, as far as it is known."""

    def __init__(self, owner: str) -> None:
        super().__init__(f"locked by process {owner}")
        self.owner = owner


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, which holds this process's number from then on.

    The number is for people; the lock itself belongs to the open file, so that one left behind by
    `kill -9` holds nobody up and a number that another process has by now misleads nobody.

    Raises:
        AlreadyLockedError: if another process holds it.
    """
    path.touch()
    with path.open("r+b") as file:
        try:
            _take(file)
        except (BlockingIOError, PermissionError) as error:
            raise AlreadyLockedError(path.read_text("utf-8") or "(unknown)") from error
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


class StopSignal:
    """Ctrl-C and a polite kill (SIGTERM), taken as a wish, granted at the end of the step."""

    def __init__(self) -> None:
        self.came = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block, these signals set `came` and do nothing else."""

        def note(number: int, frame: FrameType | None) -> None:
            self.came = True

        try:
            before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: who started it gets the signals
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
