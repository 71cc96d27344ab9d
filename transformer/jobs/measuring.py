"""Measurements of this machine: one at a time for all visitors, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from transformer.jobs.errors import JobError

_HOUSE = Path(__file__).resolve().parents[2]
ROOM = 16
"""Measurements that are kept; the oldest make room."""
LAST = 4000
"""Characters of what a process says at its end that are looked at."""


# Runs a module as `python -m` does, and ends when the other end of standard input is closed.
_WITH_THE_APP = """
import os, runpy, sys, threading
def watch():
    while os.read(0, 4096):
        pass
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@dataclass
class Measurement:
    """One measurement and the lines that it has written so far.

    Attributes:
        argument: what was measured, as its process was told.
        owner: who may stop it.
        began: when, in `time.monotonic` seconds.
        reason: why it failed.
    """

    argument: str
    owner: str
    began: float
    lines: list[str] = field(default_factory=list)
    status: Literal["running", "finished", "stopped", "failed"] = "running"
    reason: str = ""


class Measuring:
    """Runs `python -m module argument` and keeps the lines it writes, for the server's life.

    Args:
        limit: seconds after which a process is ended, whatever it still wants.
    """

    def __init__(self, module: str, limit: float = 60.0) -> None:
        self._module, self._limit = module, limit
        self._guard = threading.Lock()
        self._kept: OrderedDict[str, Measurement] = OrderedDict()
        self._process: subprocess.Popen[str] | None = None
        self._running: Measurement | None = None

    def found(self, argument: str) -> Measurement | None:
        """What there is about `argument`, running or not."""
        return self._kept.get(argument)

    def running(self) -> Measurement | None:
        """The one that has its turn."""
        return self._running

    def start(self, argument: str, owner: str) -> None:
        """Measure; what there was about `argument` is forgotten.

        Raises:
            JobError: while another one runs, or if no process can be started.
        """
        path = os.pathsep.join([str(_HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._guard:
            if self._running:
                raise JobError("somebody measures at the moment; try again in some seconds")
            errors: IO[str] | None = None
            try:
                # A file, for a pipe that nobody empties would stop the process once it is full.
                errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `_follow`
                process = subprocess.Popen(
                    [sys.executable, "-c", _WITH_THE_APP, self._module, argument],
                    stdin=subprocess.PIPE,  # it hears of this process's end
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                )
            except OSError as error:
                if errors:
                    errors.close()
                raise JobError(f"nothing can be measured: {error.strerror or error}") from error
            made = Measurement(argument, owner, time.monotonic())
            self._process, self._running = process, made
            self._kept.pop(argument, None)
            self._kept[argument] = made
            while len(self._kept) > ROOM:
                self._kept.popitem(last=False)
        threading.Thread(target=self._follow, args=(process, made, errors), daemon=True).start()

    def stop(self, owner: str) -> None:
        """End the one that runs, if it is `owner`'s; its lines so far are kept.

        Raises:
            JobError: if it is someone else's.
        """
        with self._guard:
            if self._running and self._process:
                if self._running.owner != owner:
                    raise JobError("only who began a measurement can stop it")
                self._running.status = "stopped"
                self._process.kill()

    def _follow(self, process: subprocess.Popen[str], made: Measurement, errors: IO[str]) -> None:
        """Take its lines until it ends."""
        assert process.stdout
        alarm = threading.Timer(self._limit, process.kill)
        alarm.daemon = True
        alarm.start()
        for line in process.stdout:
            made.lines.append(line)
        code = process.wait()
        errors.seek(0)
        said = errors.read()[-LAST:].strip().splitlines()
        alarm.cancel()
        with suppress(OSError):
            if process.stdin:
                process.stdin.close()
            process.stdout.close()
            errors.close()
        with self._guard:
            if made.status == "running":
                made.status = "failed" if code else "finished"
                made.reason = said[-1] if code and said else "it took too long" if code else ""
            self._process = self._running = None
