"""Warm processes of this machine that take runs from the queue, and someone who watches them."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Collection
from contextlib import suppress

from transformer.jobs import claims
from transformer.jobs.claims import member
from transformer.jobs.limits import Limits, cores
from transformer.jobs.processes import Process
from transformer.jobs.queue import Queue

_GRACE = 25.0  # seconds for a worker to save what it trains; it has 20 itself
_PATIENCE = 30.0  # seconds at most between two tries to start a worker


class Workers:
    """Processes, each watched by a thread that replaces it when it ends: as many as the operator
    says, or else one, and more as runs wait.

    Together they take as many runs as the cores have places for (`Places`), and give way to the
    app (`nice`). They hold the other end of a pipe: when this process ends, however it does, they
    save and end too.
    """

    def __init__(self, queue: Queue, limits: Limits, trainer: str, threads: int = 0) -> None:
        """`trainer` is "module:function"; threads are those of a large run, 0: as the limits say.
        Nothing starts yet."""
        self._queue, self._limits, self._trainer = queue, limits, trainer
        self._count = limits.processes
        self._threads_each = threads or limits.threads
        self._house = secrets.token_hex(8)
        self._guard = threading.Lock()
        self._keepers: list[threading.Thread] = []
        self._alive: dict[str, Process] = {}
        self._warm: set[str] = set()
        self._closing = threading.Event()
        self._trouble = ""

    def start(self) -> None:
        self._have(self._limits.workers or 1)

    def wake(self) -> None:
        with self._guard:
            for process in self._alive.values():
                process.send("")
        if len(self._keepers) < self._count:
            with suppress(OSError):  # whoever asked next is told that runs cannot be read
                live = [one for one in self._queue.infos() if one.status in ("queued", "running")]
                self._have(len(live))

    def _have(self, wanted: int) -> None:
        """So many, or all that there may be: nobody who trains alone keeps a second one warm."""
        with self._guard:
            while len(self._keepers) < min(wanted, self._count) and not self._closing.is_set():
                name = f"worker {len(self._keepers)}"
                # Daemons: an app that ends waits for nobody.
                keeper = threading.Thread(target=self._keep, name=name, daemon=True)
                self._keepers.append(keeper)
                keeper.start()

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
            token = member(self._house)
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
        shared = max(cores(), self._count)
        numbers = (self._threads_each, shared, self._limits.nice, self._limits.memory)
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
