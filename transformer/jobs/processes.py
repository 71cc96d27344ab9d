"""Processes of ours beside the app: each runs one module and gives way to the app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformer.house import CODE
from transformer.jobs.computation import Computation, Lane
from transformer.jobs.limits import Limits, cores


class Process:
    """`python -m module given…`, which reads lines from us and answers with lines.

    When this process ends, however it does, the other one's standard input ends, so that it hears
    of it.
    """

    def __init__(self, module: str, given: Sequence[str], threads: int) -> None:
        """Starts it. Raises OSError."""
        path = os.pathsep.join([str(CODE), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)},
            **_apart(),
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        self.kill = self._process.kill
        self.ended = self._process.poll
        """Its exit code once it has ended, else None."""
        self.hang_up = self._input.close
        """Tell it that nobody needs it any more."""

    def send(self, line: str) -> None:
        """One that has just ended is told nothing."""
        with suppress(OSError, ValueError):
            self._input.write(line.encode() + b"\n")

    def answer(self) -> bytes:
        """Its next line; without an end if it ended."""
        line: bytes = self._output.readline()
        return line

    def wait(self, seconds: float | None = None) -> int:
        """Its exit code; negative: the signal that killed it. Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def close(self) -> None:
        """Kill it if it has not ended, and give back its pipes."""
        self.kill()
        self.wait()
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()


def _apart() -> dict[str, Any]:
    """So that Ctrl-C in the app's terminal reaches the app alone, and workers then hear of it."""
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | below}
    # Not a session of its own: Linux may share the cores between sessions, whatever `nice` says.
    return {"process_group": 0}


class LaneProcess:
    """A `LaneExecutor`: one process of this machine, started when it is needed."""

    def __init__(self, lane: Lane, limits: Limits) -> None:
        self._lane, self._limits = lane, limits
        self._process: Process | None = None
        self._killed = False

    def begin(self, folder: Path, what: Computation) -> None:
        if self._process is not None and (self._killed or self._process.ended() is not None):
            self.close()
        asked: dict[str, object] = {"folder": str(folder), "function": what.function}
        asked |= {"processor": self._lane.processor, "hint": self._lane.hint}
        if self._process is None:
            given = [str(self._limits.nice), str(self._limits.memory)]
            threads = self._lane.threads or max(1, cores() // 2)
            self._process = Process("transformer.jobs.compute_process", given, threads)
            self._killed = False
        self._process.send(json.dumps(asked))

    def wait(self) -> int:
        process = self._process
        assert process
        answer = process.answer()
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
            process.close()
