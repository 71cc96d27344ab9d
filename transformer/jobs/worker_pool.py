"""A pool of warm worker processes on this machine, with supervisor threads."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Collection
from contextlib import suppress

from transformer.jobs import claims
from transformer.jobs.claims import new_worker_id
from transformer.jobs.limits import Limits, cores
from transformer.jobs.processes import Process
from transformer.jobs.queue import Queue

SAVE_SECONDS = 25.0  # seconds to wait for a worker to save; it allows itself 20
MAX_RESTART_PAUSE = 30.0  # maximum seconds between two attempts to start a worker


class WorkerPool:
    """Worker processes, each supervised by a thread that replaces it when it exits. Their number is
    set by the operator; by default it is one, and more while runs are queued.

    Together they train as many runs as the cores allow (`WorkerCapacity`), at a lower priority than
    the app (`nice`). Each reads a pipe of this process; when that closes, it saves and exits.
    """

    def __init__(self, queue: Queue, limits: Limits, trainer: str, threads: int = 0) -> None:
        """Prepare the pool without starting a process.

        Args:
            trainer: "module:function" that a worker calls with the run's path.
            threads: number of threads of a run with large steps; 0: as in the limits.
        """
        self._queue, self._limits, self._trainer = queue, limits, trainer
        self._count = limits.processes
        self._threads_per_run = threads or limits.threads
        self._pool = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._supervisors: list[threading.Thread] = []
        self._alive: dict[str, Process] = {}
        self._warm: set[str] = set()
        self._closing = threading.Event()
        self._startup_error = ""

    def start(self) -> None:
        self._ensure_workers(self._limits.workers or 1)

    def wake(self) -> None:
        with self._lock:
            for process in self._alive.values():
                process.send("")
        if len(self._supervisors) < self._count:
            with suppress(OSError):  # the next request reports that runs cannot be read
                unfinished = [
                    info for info in self._queue.infos() if info.status in ("queued", "running")
                ]
                self._ensure_workers(len(unfinished))

    def _ensure_workers(self, count: int) -> None:
        """Start workers up to `count` and the limit; a single run does not need a second warm
        one."""
        with self._lock:
            while len(self._supervisors) < min(count, self._count) and not self._closing.is_set():
                name = f"worker {len(self._supervisors)}"
                # Daemon threads, so that they do not delay the end of the app.
                supervisor = threading.Thread(target=self._supervise, name=name, daemon=True)
                self._supervisors.append(supervisor)
                supervisor.start()

    def supervised_workers(self) -> Collection[str]:
        with self._lock:
            return set(self._alive)

    def startup_error(self) -> str:
        return self._startup_error

    def warm_workers(self) -> int:
        with self._lock:
            return len(self._warm & self._alive.keys())

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            supervisors, alive = list(self._supervisors), list(self._alive.values())
            for worker_id, process in self._alive.items():
                process.close_input()
                if worker_id not in self._warm:  # it has nothing to save
                    process.kill()
        for process in alive:
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAVE_SECONDS)
            process.kill()
        for supervisor in supervisors:
            supervisor.join()

    def _supervise(self) -> None:
        """Start a worker, wait for its exit, mark its run as failed, and repeat."""
        pause = 0.0
        while not self._closing.wait(pause):
            worker_id = new_worker_id(self._pool)
            try:
                process = self._start_worker(worker_id)
            except OSError as error:
                self._startup_error = f"no worker can be started: {error.strerror or error}"
                pause = MAX_RESTART_PAUSE
                continue
            if process is None:
                return
            code = self._wait_for_exit(worker_id, process)
            with suppress(OSError):  # on a full disk the next check of the runs finds them
                claims.record_worker_exit(self._queue, worker_id, code)
            with self._lock:
                del self._alive[worker_id]
                was_warm = worker_id in self._warm
                self._warm.discard(worker_id)
            pause = 0.0 if was_warm else min(MAX_RESTART_PAUSE, 2 * pause or 0.5)

    def _start_worker(self, worker_id: str) -> Process | None:
        """Start a worker; None if the pool is closing."""
        total_cores = max(cores(), self._count)
        numbers = (self._threads_per_run, total_cores, self._limits.nice, self._limits.memory)
        arguments = [str(self._queue.root), self._trainer, worker_id, *map(str, numbers)]
        with self._lock:
            if self._closing.is_set():
                return None
            process = Process("transformer.jobs.worker", arguments, self._threads_per_run)
            self._alive[worker_id] = process
        return process

    def _wait_for_exit(self, worker_id: str, process: Process) -> int:
        """Wait until the worker exits and return its exit code (negative: the signal)."""
        if process.read_line() == b"ready\n":
            self._startup_error = ""
            with self._lock:
                self._warm.add(worker_id)
        elif not self._closing.is_set():
            self._startup_error = "no worker can be started; see the error in the app's terminal"
        code = process.wait()
        process.close()
        return code
