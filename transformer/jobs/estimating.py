"""How long a run would take, measured beside the app: in a process of bounded memory and time.

estimates = Estimating(memory=3_000_000_000)
estimates.look(config, pairs)   # None until it is known: ask again
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from transformer.jobs.limits import cores
from transformer.jobs.processes import start
from transformer.training.estimate import Estimate, Workload, total, workload

SECONDS = 20
"""Seconds of a processor that one measurement may take; it needs about one, and the first some
more to start."""
BUSY = 6
"""A measurement is ended after so many times as many seconds, however little it had of them."""
WAITING, KEPT = 16, 256
"""Measurements that wait, those asked for last; and results that are kept."""
FORGOTTEN = 5.0
"""Seconds after which a question that nobody repeats is dropped."""
IDLE = 60.0
"""Seconds without a question after which the process ends and gives its memory back."""
UNKNOWN = "its time cannot be told: "


class Estimating:
    """One process for all visitors, started when somebody asks, replaced when it ends.

    Args:
        memory: bytes that it may take.
        nice: how far it gives way to the app.
        seconds: of a processor, for one measurement.
    """

    def __init__(self, memory: int, nice: int = 10, seconds: int = SECONDS) -> None:
        self._memory, self._nice, self._seconds = memory, nice, seconds
        self._guard = threading.Condition()
        self._wanted: OrderedDict[Workload, float] = OrderedDict()  # and when last asked for
        self._known: OrderedDict[Workload, tuple[int, float] | str] = OrderedDict()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._closing = False

    def look(
        self, config: Mapping[str, Any], pairs: Sequence[tuple[str, str]] = ()
    ) -> Estimate | str | None:
        """The estimate, or a clause on why there is none, or None: it is being measured.

        Takes as long as counting the words of `pairs`.

        Raises:
            ValueError: for a config with a wrong value.
        """
        wanted = workload(config, pairs)
        with self._guard:
            found = self._known.get(wanted)
            if found is None and not self._closing:
                self._wanted[wanted] = time.monotonic()
                self._wanted.move_to_end(wanted)
                while len(self._wanted) > WAITING:
                    self._wanted.popitem(last=False)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, daemon=True)
                    self._thread.start()
                self._guard.notify()
        return total(config, *found) if isinstance(found, tuple) else found

    def close(self) -> None:
        """End the process; what was asked for stays unknown."""
        with self._guard:
            self._closing = True
            thread = self._thread
            if self._process is not None:
                self._process.kill()
            self._guard.notify()
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        """Measure what was asked for last, until nobody asks any more."""
        while (wanted := self._next()) is not None:
            found = self._measure(wanted)
            with self._guard:
                self._wanted.pop(wanted, None)
                if not self._closing:
                    self._known[wanted] = found
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)

    def _next(self) -> Workload | None:
        """The question asked last; None after `IDLE` seconds without one, or at the end."""
        until = time.monotonic() + IDLE
        with self._guard:
            while not self._closing:
                now = time.monotonic()
                for old in [w for w, asked in self._wanted.items() if asked < now - FORGOTTEN]:
                    del self._wanted[old]
                if self._wanted:
                    return next(reversed(self._wanted))
                if now >= until:
                    break
                self._guard.wait(until - now)
            self._thread = None
            process, self._process = self._process, None
        if process is not None:
            _end(process)
        return None

    def _measure(self, wanted: Workload) -> tuple[int, float] | str:
        """What the process answers; a clause if it does not."""
        try:
            process = self._started()
        except OSError as error:
            return f"{UNKNOWN}no process can be started ({error.strerror or error})"
        assert process.stdin
        assert process.stdout

        alarm = threading.Timer(BUSY * self._seconds, process.kill)
        alarm.daemon = True
        alarm.start()
        answer, found = b"", {}
        with suppress(OSError):
            process.stdin.write(json.dumps(wanted.to_dict()).encode() + b"\n")
            answer = process.stdout.readline()
        alarm.cancel()
        with suppress(ValueError, KeyError):
            found = json.loads(answer)
            if "seconds" in found:
                return int(found["weights"]), float(found["seconds"])
        with self._guard:
            self._process = None
        _end(process)  # after an allocation that failed, even a small one may
        if "reason" in found:
            return str(found["reason"])
        return f"{UNKNOWN}a step takes too long here; take a smaller model, or a smaller batch"

    def _started(self) -> subprocess.Popen[bytes]:
        """The process, or a new one. Raises OSError."""
        with self._guard:
            if self._process is not None and self._process.poll() is not None:
                _end(self._process)
                self._process = None
            if self._process is None:
                threads = max(1, cores() // 2)
                given = [*map(str, (self._memory, self._nice, self._seconds))]
                self._process = start("transformer.jobs.estimate_process", given, threads)
            return self._process


def _end(process: subprocess.Popen[bytes]) -> None:
    """It has nothing to save."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()
