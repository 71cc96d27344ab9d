"""Warm processes of this machine that take runs from the queue, and someone who watches them."""

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

SAVE_SECONDS = 25.0  # seconds for a worker to save what it trains; it has 20 itself
MAX_RESTART_PAUSE = 30.0  # seconds at most between two tries to start a worker


class WorkerPool:
    """Processes, each watched by a thread that replaces it when it ends: as many as the operator
    says, or else one, and more as runs wait.

    Together they take as many runs as the cores allow (`WorkerCapacity`), at a lower priority than
    the app (`nice`). They hold the other end of a pipe: when this process ends, however it does,
    they save and end too.
    """

    def __init__(self, queue: Queue, limits: Limits, trainer: str, threads: int = 0) -> None:
        """`trainer` is "module:function"; threads are those of a large run, 0: as the limits say.
        Nothing starts yet."""
        self._queue, self._limits, self._trainer = queue, limits, trainer
        self._count = limits.processes
        self._threads_each = threads or limits.threads
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
            with suppress(OSError):  # whoever asked next is told that runs cannot be read
                unfinished = [
                    info for info in self._queue.infos() if info.status in ("queued", "running")
                ]
                self._ensure_workers(len(unfinished))

    def _ensure_workers(self, count: int) -> None:
        """So many, or all that there may be: nobody who trains alone keeps a second one warm."""
        with self._lock:
            while len(self._supervisors) < min(count, self._count) and not self._closing.is_set():
                name = f"worker {len(self._supervisors)}"
                # Daemons: an app that ends waits for nobody.
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
            for token, process in self._alive.items():
                process.close_input()
                if token not in self._warm:  # it has nothing to save
                    process.kill()
        for process in alive:
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAVE_SECONDS)
            process.kill()
        for supervisor in supervisors:
            supervisor.join()

    def _supervise(self) -> None:
        """Start a worker, wait for its end, say what it lost, and again."""
        pause = 0.0
        while not self._closing.wait(pause):
            token = new_worker_id(self._pool)
            try:
                process = self._start_worker(token)
            except OSError as error:
                self._startup_error = f"no worker can be started: {error.strerror or error}"
                pause = MAX_RESTART_PAUSE
                continue
            if process is None:
                return
            code = self._wait_for_exit(token, process)
            with suppress(OSError):  # a full disk; the next look at the runs finds them
                claims.record_worker_exit(self._queue, token, code)
            with self._lock:
                del self._alive[token]
                was_warm = token in self._warm
                self._warm.discard(token)
            pause = 0.0 if was_warm else min(MAX_RESTART_PAUSE, 2 * pause or 0.5)

    def _start_worker(self, token: str) -> Process | None:
        """A new worker; None if they are being ended."""
        total_cores = max(cores(), self._count)
        numbers = (self._threads_each, total_cores, self._limits.nice, self._limits.memory)
        arguments = [str(self._queue.root), self._trainer, token, *map(str, numbers)]
        with self._lock:
            if self._closing.is_set():
                return None
            process = Process("transformer.jobs.worker", arguments, self._threads_each)
            self._alive[token] = process
        return process

    def _wait_for_exit(self, token: str, process: Process) -> int:
        """Wait for its end and return its exit code; negative: the signal that killed it."""
        if process.read_line() == b"ready\n":
            self._startup_error = ""
            with self._lock:
                self._warm.add(token)
        elif not self._closing.is_set():
            self._startup_error = "no worker starts; the app's terminal says why"
        code = process.wait()
        process.close()
        return code
