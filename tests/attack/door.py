"""What a door is: something to attack again and again, and a look at the end at what it did."""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil


@dataclass
class Attack:
    """An open door: an entry point under attack.

    Attributes:
        try_once: sends one hostile input; any exception is a defect.
        summary: a note on measurements, printed after the figures.
    """

    try_once: Callable[[random.Random], None]
    summary: Callable[[], str] = str


@dataclass(frozen=True)
class Door:
    """How a door is opened, in an empty folder; an error as it closes is a defect too.

    Attributes:
        share: relative share of the time.
        rounds: inputs of the part in `test_doors.py`.
    """

    open: Callable[[Path], AbstractContextManager[Attack]]
    share: float = 1.0
    rounds: int = 150


def simple(once: Callable[[random.Random, Path], None], share: float = 1.0) -> Door:
    """A door that needs nothing but a folder."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Attack]:
        yield Attack(lambda chance: once(chance, folder))

    return Door(opened, share)


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        value: what its function gave back.
        error: the traceback, if it raised.
        code: exit code; negative: the signal that ended it.
        late: it was still at work when its time was over, and was killed.
    """

    value: Any = None
    error: str = ""
    code: int = 0
    late: bool = False


def forked(
    act: Callable[[], Any], seconds: float, memory: int | None = None, file: int | None = None
) -> Ended:
    """Run `act` in a fork of this process, which is killed after `seconds`.

    Args:
        memory: additional bytes that it may allocate (RLIMIT_DATA).
        file: bytes of the largest file that it may write (RLIMIT_FSIZE).
    """
    begin, end = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that a copy lacks; torch's are not used with one thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(begin)
        _act(act, end, memory, file)
    os.close(end)
    until, output, late = time.monotonic() + seconds, b"", False
    try:
        while True:
            ready, _, _ = select.select([begin], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                late = True
                break
            got = os.read(begin, 1 << 20)
            if not got:
                break
            output += got
    finally:
        os.kill(child, signal.SIGKILL)  # it may have said all, and not be gone yet
        _, status = os.waitpid(child, 0)
        os.close(begin)
    if output and not late:
        value, error = pickle.loads(output)
        return Ended(value, error)
    return Ended(code=os.waitstatus_to_exitcode(status), late=late)


def _act(act: Callable[[], Any], end: int, memory: int | None, file: int | None) -> None:
    """The child's life."""
    import resource

    result: tuple[Any, str] = None, "it could not even say what was wrong"
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))
        if memory is not None:
            memory_limit = psutil.Process().memory_info().data + memory
            resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, resource.RLIM_INFINITY))
        try:
            result = act(), ""
        except BaseException as error:
            result = None, "".join(traceback.format_exception(error))
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open(end, "wb") as pipe:
            pickle.dump(result, pipe)
    finally:
        os._exit(0)
