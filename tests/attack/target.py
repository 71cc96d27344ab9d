"""Targets of the attack tests, and running a function in a limited child process."""

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
    """An attack in progress on one target.

    Attributes:
        try_once: sends one hostile input; any exception is a defect.
        summary: returns a note on measurements, which is printed after the figures.
    """

    try_once: Callable[[random.Random], None]
    summary: Callable[[], str] = str


@dataclass(frozen=True)
class Target:
    """An entry point that is attacked.

    Attributes:
        start: starts an attack in an empty folder; an error at its end is a defect, too.
        share: relative share of the time.
        rounds: number of inputs in `test_attacks.py`.
    """

    start: Callable[[Path], AbstractContextManager[Attack]]
    share: float = 1.0
    rounds: int = 150


def simple(try_once: Callable[[random.Random, Path], None], share: float = 1.0) -> Target:
    """Return a target whose inputs need only a folder."""

    @contextmanager
    def start(folder: Path) -> Iterator[Attack]:
        yield Attack(lambda rng: try_once(rng, folder))

    return Target(start, share)


@dataclass(frozen=True)
class ChildResult:
    """Result of a child process.

    Attributes:
        value: the return value of its function.
        error: the traceback if the function raised an error.
        code: the exit code; if negative, the signal that ended the process.
        timed_out: whether it was killed because its time was over.
    """

    value: Any = None
    error: str = ""
    code: int = 0
    timed_out: bool = False


def run_forked(
    act: Callable[[], Any], seconds: float, memory: int | None = None, file: int | None = None
) -> ChildResult:
    """Run `act` in a fork of this process, which is killed after `seconds`.

    Args:
        memory: additional bytes that it may allocate (RLIMIT_DATA).
        file: maximum bytes of a file that it may write (RLIMIT_FSIZE).
    """
    begin, end = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns that a fork has no other threads. With one thread, torch uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(begin)
        _run_child(act, end, memory, file)
    os.close(end)
    deadline, output, timed_out = time.monotonic() + seconds, b"", False
    try:
        while True:
            ready, _, _ = select.select([begin], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                timed_out = True
                break
            data = os.read(begin, 1 << 20)
            if not data:
                break
            output += data
    finally:
        os.kill(child, signal.SIGKILL)  # it may still run after it has sent its result
        _, status = os.waitpid(child, 0)
        os.close(begin)
    if output and not timed_out:
        value, error = pickle.loads(output)
        return ChildResult(value, error)
    return ChildResult(code=os.waitstatus_to_exitcode(status), timed_out=timed_out)


def _run_child(act: Callable[[], Any], end: int, memory: int | None, file: int | None) -> None:
    """Run `act` in the child, send its result through the pipe `end`, and exit."""
    import resource

    result: tuple[Any, str] = None, "the child could not report its error"
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
