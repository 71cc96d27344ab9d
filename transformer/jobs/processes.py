"""Who trains and computes: the seams for a cluster, processes of ours, and what each may take."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformer.app_folders import IMPORT_ROOT
from transformer.jobs.computation import Computation, Lane
from transformer.jobs.limits import Limits, cores


class Process:
    """`python -m module given…`, which reads lines from us and answers with lines.

    When this process ends, however it does, the other one's standard input ends, so that it hears
    of it.
    """

    def __init__(self, module: str, arguments: Sequence[str], threads: int) -> None:
        """Starts it. Raises OSError."""
        path = os.pathsep.join([str(IMPORT_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)},
            **_group_options(),
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        self.kill = self._process.kill
        self.poll = self._process.poll
        """Its exit code once it has ended, else None."""
        self.close_input = self._input.close
        """Tell it that nobody needs it any more."""

    def send(self, line: str) -> None:
        """One that has just ended is told nothing."""
        with suppress(OSError, ValueError):
            self._input.write(line.encode() + b"\n")

    def read_line(self) -> bytes:
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


def _group_options() -> dict[str, Any]:
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

    def begin(self, folder: Path, computation: Computation) -> None:
        if self._process is not None and (self._killed or self._process.poll() is not None):
            self.close()
        request: dict[str, object] = {"folder": str(folder), "function": computation.function}
        request |= {"processor": self._lane.max_cpu_seconds, "hint": self._lane.hint}
        if self._process is None:
            arguments = [str(self._limits.nice), str(self._limits.memory)]
            threads = self._lane.threads or max(1, cores() // 2)
            self._process = Process("transformer.jobs.compute_process", arguments, threads)
            self._killed = False
        self._process.send(json.dumps(request))

    def wait(self) -> int:
        process = self._process
        assert process
        answer = process.read_line()
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


GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Where Linux has a graphics card's driver: NVIDIA's, AMD's, and that of Windows beneath it."""


def limit_memory(max_bytes: int) -> bool:
    """Let this process have `most` bytes of its own; more is a MemoryError, or torch's word for it.

    Linux counts all that a process can write to and nobody else has (RLIMIT_DATA since 4.7): what
    libraries and mapped files take is not in it. A graphics card's driver sets aside far more than
    it uses, so nothing is bounded beside one. True where the system holds it.
    """
    if not sys.platform.startswith("linux") or any(Path(card).exists() for card in GPU_DEVICES):
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        max_bytes = min(max_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard))
    return True


def limit_cpu_time(seconds: int) -> bool:
    """Let this process compute for `seconds` from now on, all threads together; then it is ended.
    True where the system holds it."""
    if sys.platform == "win32":
        return False
    import resource

    cpu_limit = math.ceil(time.process_time()) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        cpu_limit = min(cpu_limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, hard))
    return True


class RunExecutor(Protocol):
    """Whatever takes runs from the queue: processes here, or machines elsewhere."""

    def start(self) -> None:
        """Begin to take runs; calling it again does nothing."""

    def wake(self) -> None:
        """A run has come: look now."""

    def warm_workers(self) -> int:
        """How many workers are ready to train."""

    def supervised_workers(self) -> Collection[str]:
        """The workers whose end will be reported."""

    def startup_error(self) -> str:
        """Why no worker starts, or nothing."""

    def close(self) -> None:
        """End; what was training waits in line again."""


@runtime_checkable
class LaneExecutor(Protocol):
    """Whatever computes for one lane: a process here, or a machine that sees the same folders.

    One computation at a time: `begin`, then `wait`; `kill` may come from any thread meanwhile.
    """

    def begin(self, folder: Path, computation: Computation) -> None:
        """Compute what the folder's ask.json says and leave its files there. Raises OSError."""

    def wait(self) -> int:
        """Until it has ended: 0, or how it failed (`results.py`, else the process's own code)."""

    def kill(self) -> None:
        """End it now."""

    def close(self) -> None:
        """Give back what it keeps for the next one."""
