"""Executors of runs and lanes, child processes of this machine, and their resource limits."""

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
    """A child process `python -m module arguments…` that exchanges lines with this process.

    When this process ends in any way, the child's standard input is closed, so that it ends too.
    """

    def __init__(self, module: str, arguments: Sequence[str], threads: int) -> None:
        """Start the process. Raises OSError."""
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
        """Close its standard input, so that it ends."""

    def send(self, line: str) -> None:
        """Send a line; ignored if the process has ended."""
        with suppress(OSError, ValueError):
            self._input.write(line.encode() + b"\n")

    def read_line(self) -> bytes:
        """Return its next line; without a line end if it has ended."""
        line: bytes = self._output.readline()
        return line

    def wait(self, seconds: float | None = None) -> int:
        """Return its exit code (negative: the signal). Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def close(self) -> None:
        """Kill the process if it is running, and close its pipes."""
        self.kill()
        self.wait()
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()


def _group_options() -> dict[str, Any]:
    """Return Popen options with which Ctrl-C in the terminal reaches only the app itself."""
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | below}
    # Not a new session: Linux may divide the cores between sessions regardless of niceness.
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
        self.close()  # after a failed allocation, further ones may fail too
        return code

    def kill(self) -> None:
        self._killed = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process, which has nothing to save."""
        process, self._process = self._process, None
        if process is not None:
            process.close()


GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files of GPU drivers on Linux: NVIDIA, AMD, and Windows below WSL."""


def limit_memory(max_bytes: int) -> bool:
    """Limit this process to `max_bytes` of private memory; beyond it, a MemoryError or torch's
    equivalent is raised. Returns whether the system enforces it.

    Linux counts private writable memory (RLIMIT_DATA since 4.7), without libraries and mapped
    files. A GPU driver reserves far more than it uses, so there is no limit on such machines.
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
    """Limit this process to `seconds` more of CPU time of all threads; then the system kills it.
    Returns whether the system enforces it."""
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
    """Trains queued runs: local processes or a cluster."""

    def start(self) -> None:
        """Begin to claim runs; calling it again has no effect."""

    def wake(self) -> None:
        """Check the queue now, after a run was added."""

    def warm_workers(self) -> int:
        """Return the number of workers that are ready to train."""

    def supervised_workers(self) -> Collection[str]:
        """Return the ids of the workers whose exit this executor handles."""

    def startup_error(self) -> str:
        """Return why no worker can be started, or ""."""

    def close(self) -> None:
        """End all workers; running runs are queued again."""


@runtime_checkable
class LaneExecutor(Protocol):
    """Runs the computations of one lane: a local process or a cluster.

    One computation at a time: `begin`, then `wait`; meanwhile any thread may call `kill`.
    """

    def begin(self, folder: Path, computation: Computation) -> None:
        """Start the computation in the folder's ask.json, which writes its files there. Raises
        OSError."""

    def wait(self) -> int:
        """Wait for the end; return 0, an exit code of `results.py`, or the process's exit code."""

    def kill(self) -> None:
        """Kill the running computation."""

    def close(self) -> None:
        """Release resources, such as the warm process."""
