"""Processes of ours beside the app: each runs one module and gives way to the app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformer.jobs.computation import Computation, Lane
from transformer.jobs.limits import Limits, cores

_HOUSE = Path(__file__).resolve().parents[2]


def start(module: str, given: Sequence[str], threads: int) -> subprocess.Popen[bytes]:
    """`python -m module given…` with pipes for standard input and output. Raises OSError.

    When this process ends, however it does, the other end of its standard input is closed, so that
    it hears of it.
    """
    path = os.pathsep.join([str(_HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", module, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)},
        **_apart(),
    )


def _apart() -> dict[str, Any]:
    """So that Ctrl-C in the app's terminal reaches the app alone, and workers then hear of it."""
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | below}
    # Not a session of its own: Linux may share the cores between sessions, whatever `nice` says.
    return {"process_group": 0}


@runtime_checkable
class Executor(Protocol):
    """Whatever computes for one lane: a process here, or a machine that sees the same folders.

    One computation at a time: `begin`, then `wait`; `kill` may come from any thread meanwhile.
    """

    def begin(self, folder: Path, what: Computation) -> None:
        """Compute what the folder's ask.json says and leave its files there. Raises OSError."""

    def wait(self) -> int:
        """Until it has ended: 0, or how it failed (`results.py`, else the process's own code)."""

    def kill(self) -> None:
        """End it now."""

    def close(self) -> None:
        """Give back what it keeps for the next one."""


class LocalProcess:
    """An `Executor`: one process of this machine, started when it is needed."""

    def __init__(self, lane: Lane, limits: Limits) -> None:
        self._lane, self._limits = lane, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def begin(self, folder: Path, what: Computation) -> None:
        if self._process is not None and (self._killed or self._process.poll() is not None):
            self.close()
        asked: dict[str, object] = {"folder": str(folder), "function": what.function}
        asked |= {"processor": self._lane.processor, "hint": self._lane.hint}
        if self._process is None:
            given = [str(self._limits.nice), str(self._limits.memory)]
            threads = self._lane.threads or max(1, cores() // 2)
            self._process = start("transformer.jobs.compute_process", given, threads)
            self._killed = False
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it has just ended, as `wait` will say
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")

    def wait(self) -> int:
        process = self._process
        assert process
        assert process.stdout
        answer = process.stdout.readline()
        if answer.strip() == b"0":
            return 0
        code = int(answer) if answer.endswith(b"\n") else process.wait()
        self.close()  # after an allocation that failed, even a small one may
        return code

    def kill(self) -> None:
        self._killed = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """It has nothing to save."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with suppress(OSError):
                        pipe.close()
