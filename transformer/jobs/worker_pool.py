"""A pool of worker processes on this machine, which claim and execute the jobs of a queue."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol

from transformer.app_folders import IMPORT_ROOT
from transformer.jobs.fork_server import fork_worker
from transformer.jobs.queue import Queue

SAVE_SECONDS = 25.0  # seconds to wait for a worker to save; it allows itself 20
MAX_RESTART_PAUSE = 30.0  # maximum seconds between two attempts to start a worker


class Executor(Protocol):
    """Executes the jobs of a queue: local processes or a cluster."""

    def start(self) -> None:
        """Begin to claim jobs; calling it again has no effect."""

    def wake(self) -> None:
        """Check the queue now, after a job was added."""

    def startup_error(self) -> str:
        """Return why no job can be started, or why the end of one cannot be stored, or ""."""

    def close(self) -> None:
        """End all workers; jobs that they execute are queued again."""


class WorkerProcess:
    """A process that executes `worker.main`, and pipes to its standard input and from its reports.
    It ends when this process does, because its input is then closed.

    On Linux it is a fork of a process that has imported PyTorch (`fork_server`), elsewhere an
    interpreter of its own. Raises OSError if it cannot be started.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        path = os.pathsep.join([str(IMPORT_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": str(settings["threads"]),
        }
        if sys.platform == "linux":
            self._handle: int | subprocess.Popen[bytes] | None = None  # of the fork, see `read`
            to_worker, from_worker = fork_worker(settings, environment)
            self._input, self._reports = os.fdopen(to_worker, "wb", 0), os.fdopen(from_worker, "rb")
            return
        self._handle = process = subprocess.Popen(
            [sys.executable, "-m", "transformer.jobs.worker", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            **_background_options(),
        )
        assert process.stdin
        assert process.stdout
        self._input, self._reports = process.stdin, process.stdout

    def wake(self) -> None:
        """Tell the worker that a job was queued."""
        with suppress(OSError, ValueError):  # it has ended
            self._input.write(b"\n")
            self._input.flush()

    def end(self) -> None:
        """Tell the worker to save and exit."""
        with suppress(OSError):
            self._input.close()

    def kill(self) -> None:
        """Kill the worker, unless it has ended."""
        with suppress(OSError):
            if isinstance(self._handle, int):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            elif self._handle:
                self._handle.kill()

    def read(self) -> Iterator[Mapping[str, str]]:
        """Yield what the worker reports, see `worker.py`; end when it has exited."""
        with self._reports:
            for line in self._reports:
                with suppress(ValueError):  # the worker was killed in the middle of a line
                    report = json.loads(line)
                    if self._handle is None and "pid" in report:
                        with suppress(OSError):  # it has ended, or the kernel is older than 5.3
                            self._handle = os.pidfd_open(int(report["pid"]))
                    yield report
        self.end()
        if isinstance(self._handle, int):
            ended = select.poll()
            ended.register(self._handle, select.POLLIN)
            ended.poll()
            descriptor, self._handle = self._handle, None  # its number may be used again
            os.close(descriptor)
        elif self._handle:
            self._handle.wait()


def _background_options() -> dict[str, Any]:
    """Return Popen options with which Ctrl-C in the terminal reaches only the app itself."""
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | below}
    # Not a new session: Linux may divide the cores between sessions regardless of niceness.
    return {"process_group": 0}


class WorkerPool:
    """Worker processes, each supervised by a thread that replaces it when it exits. As many as the
    queue's `Kind` says are started in advance, and more while jobs are queued.

    Workers have a lower priority than the app (`nice`). Each reads a pipe of this process; when
    that closes, it saves and exits.
    """

    def __init__(self, queue: Queue) -> None:
        """Prepare the pool without starting a process."""
        self._queue, self._kind = queue, queue.kind
        self._lock = threading.Lock()
        self._supervisors: list[threading.Thread] = []
        self._alive: dict[str, WorkerProcess] = {}
        self._warm: set[str] = set()
        self._closing = threading.Event()
        self._startup_error = ""

    def start(self) -> None:
        self._ensure_workers(self._kind.warm)

    def wake(self) -> None:
        with self._lock:
            for process in self._alive.values():
                process.wake()
        if len(self._supervisors) < self._kind.processes:
            with suppress(OSError):  # the next request reports that jobs cannot be read
                self._ensure_workers(len(self._queue.entries()))

    def _ensure_workers(self, count: int) -> None:
        """Start workers up to `count` and the limit; a single job does not need a second warm
        one."""
        with self._lock:
            count = min(count, self._kind.processes)
            while len(self._supervisors) < count and not self._closing.is_set():
                name = f"worker {len(self._supervisors)}"
                # Daemon threads, so that they do not delay the end of the app.
                supervisor = threading.Thread(target=self._supervise, name=name, daemon=True)
                self._supervisors.append(supervisor)
                supervisor.start()

    def startup_error(self) -> str:
        return self._startup_error

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            supervisors, alive = list(self._supervisors), list(self._alive.values())
        for process in alive:
            process.end()
        deadline = time.monotonic() + SAVE_SECONDS
        for supervisor in supervisors:
            supervisor.join(max(0, deadline - time.monotonic()))
        for process in alive:
            process.kill()
        for supervisor in supervisors:
            supervisor.join()

    def _supervise(self) -> None:
        """Start a worker, handle what it reports until it exits, queue its job again if it was
        killed, and repeat; end when the worker was idle."""
        pause = 0.0
        while not self._closing.wait(pause):
            worker_id = secrets.token_hex(8)
            settings = {"root": str(self._queue.root), "worker": worker_id, **asdict(self._kind)}
            try:
                with self._lock:
                    if self._closing.is_set():
                        return
                    process = self._alive[worker_id] = WorkerProcess(settings)
            except OSError as error:
                self._startup_error = f"no worker can be started: {error.strerror or error}"
                pause = MAX_RESTART_PAUSE
                continue
            for report in process.read():
                if "error" in report:  # it has imported what it needs
                    with self._lock:
                        self._startup_error = report["error"]
                        self._warm.add(worker_id)
            with suppress(OSError):  # on a full disk the next check of the runs finds them
                self._queue.requeue_orphans()
            with self._lock:
                del self._alive[worker_id]
                was_warm = worker_id in self._warm
                self._warm.discard(worker_id)
                if not was_warm and not self._closing.is_set():
                    self._startup_error = (
                        "no worker can be started; see the error in the app's terminal"
                    )
                if self._kind.idle_seconds and was_warm and not self._has_entries():
                    self._supervisors.remove(threading.current_thread())
                    return
            pause = 0.0 if was_warm else min(MAX_RESTART_PAUSE, 2 * pause or 0.5)

    def _has_entries(self) -> bool:
        with suppress(OSError):
            return bool(self._queue.entries())
        return False
