"""Warm processes of this machine that take runs from the queue, and someone who watches them."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Collection
from contextlib import suppress

from transformer.jobs import claims
from transformer.jobs.limits import Limits, cores
from transformer.jobs.processes import Process
from transformer.jobs.queue import Queue

_GRACE = 25.0  # seconds for a worker to save what it trains; it has 20 itself
_PATIENCE = 30.0  # seconds at most between two tries to start a worker


class Workers:
    """`count` processes, each watched by a thread that replaces it when it ends.

    Each gets its share of the cores and gives way to the app (`nice`). They hold the other
    end of a pipe: when this process ends, however it does, they save and end too.
    """

    def __init__(self, queue: Queue, limits: Limits, trainer: str, threads: int = 0) -> None:
        """`trainer` is "module:function"; threads are each one's, 0: an equal share of the cores.
        Nothing starts yet."""
        self._queue, self._limits, self._trainer = queue, limits, trainer
        self._count = limits.processes
        self._threads_each = threads or max(1, cores() // self._count)
        self._guard = threading.Lock()
        self._keepers: list[threading.Thread] = []
        self._alive: dict[str, Process] = {}
        self._warm: set[str] = set()
        self._closing = threading.Event()
        self._trouble = ""

    def start(self) -> None:
        with self._guard:
            if self._keepers or self._closing.is_set():
                return
            # Daemons: an app that ends waits for nobody.
            self._keepers = [
                threading.Thread(target=self._keep, name=f"worker {n}", daemon=True)
                for n in range(self._count)
            ]
            for keeper in self._keepers:
                keeper.start()

    def wake(self) -> None:
        with self._guard:
            for process in self._alive.values():
                process.send("")

    def watched(self) -> Collection[str]:
        with self._guard:
            return set(self._alive)

    def startup_error(self) -> str:
        return self._trouble

    def warm(self) -> int:
        with self._guard:
            return len(self._warm & self._alive.keys())

    def close(self) -> None:
        self._closing.set()
        with self._guard:
            keepers, alive = list(self._keepers), list(self._alive.values())
            for token, process in self._alive.items():
                process.hang_up()
                if token not in self._warm:  # it has nothing to save
                    process.kill()
        for process in alive:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            process.kill()
        for keeper in keepers:
            keeper.join()

    def _keep(self) -> None:
        """Start a worker, wait for its end, say what it lost, and again."""
        pause = 0.0
        while not self._closing.wait(pause):
            token = secrets.token_hex(8)
            try:
                process = self._begin(token)
            except OSError as error:
                self._trouble = f"no worker can be started: {error.strerror or error}"
                pause = _PATIENCE
                continue
            if process is None:
                return
            code = self._watch(token, process)
            with suppress(OSError):  # a full disk; the next look at the runs finds them
                claims.worker_died(self._queue, token, code)
            with self._guard:
                del self._alive[token]
                was_warm = token in self._warm
                self._warm.discard(token)
            pause = 0.0 if was_warm else min(_PATIENCE, 2 * pause or 0.5)

    def _begin(self, token: str) -> Process | None:
        """A new worker; None if they are being ended."""
        numbers = (self._threads_each, self._limits.nice, self._limits.memory)
        given = [str(self._queue.root), self._trainer, token, *map(str, numbers)]
        with self._guard:
            if self._closing.is_set():
                return None
            process = Process("transformer.jobs.worker", given, self._threads_each)
            self._alive[token] = process
        return process

    def _watch(self, token: str, process: Process) -> int:
        """Wait for its end and return its exit code; negative: the signal that killed it."""
        if process.answer() == b"ready\n":
            self._trouble = ""
            with self._guard:
                self._warm.add(token)
        elif not self._closing.is_set():
            self._trouble = "no worker starts; the app's terminal says why"
        code = process.wait()
        process.close()
        return code
