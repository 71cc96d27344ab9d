"""Targets of the attack tests, and a function that runs code in a child process with limits."""

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
        start: context manager of an attack in an empty folder; an error on exit is a defect, too.
        share: relative share of the time.
        rounds: number of inputs in `test_attacks.py`.
    """

    start: Callable[[Path], AbstractContextManager[Attack]]
    share: float = 1.0
    rounds: int = 150


def simple_target(try_once: Callable[[random.Random, Path], None], share: float = 1.0) -> Target:
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
        timed_out: whether it was killed because it exceeded its time limit.
    """

    value: Any = None
    error: str = ""
    code: int = 0
    timed_out: bool = False


def run_forked(
    function: Callable[[], Any],
    seconds: float,
    extra_memory: int | None = None,
    max_file_bytes: int | None = None,
) -> ChildResult:
    """Run `function` in a fork of this process, which is killed after `seconds`.

    Args:
        extra_memory: bytes that it may allocate in addition to those in use (RLIMIT_DATA).
        max_file_bytes: maximum size of a file that it may write (RLIMIT_FSIZE).
    """
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns because a fork of a process with threads may deadlock. The child is
        # safe: torch is limited to one thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(read_end)
        _run_child(function, write_end, extra_memory, max_file_bytes)
    os.close(write_end)
    deadline, output, timed_out = time.monotonic() + seconds, b"", False
    try:
        while True:
            ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                timed_out = True
                break
            data = os.read(read_end, 1 << 20)
            if not data:
                break
            output += data
    finally:
        os.kill(child, signal.SIGKILL)  # it may still run, even after it has sent its result
        _, status = os.waitpid(child, 0)
        os.close(read_end)
    if output and not timed_out:
        value, error = pickle.loads(output)
        return ChildResult(value, error)
    return ChildResult(code=os.waitstatus_to_exitcode(status), timed_out=timed_out)


def _run_child(
    function: Callable[[], Any],
    write_end: int,
    extra_memory: int | None,
    max_file_bytes: int | None,
) -> None:
    """Run `function` in the child, write its pickled result to the pipe `write_end`, and exit."""
    import resource

    result: tuple[Any, str] = None, "the child could not report its error"
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if max_file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
        if extra_memory is not None:
            memory_limit = psutil.Process().memory_info().data + extra_memory
            resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, resource.RLIM_INFINITY))
        try:
            result = function(), ""
        except BaseException as error:
            result = None, "".join(traceback.format_exception(error))
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open(write_end, "wb") as pipe:
            pickle.dump(result, pipe)
    finally:
        os._exit(0)
