"""A warm process that executes one job after the other."""

from __future__ import annotations

import _thread
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from transformer.jobs.errors import JobError
from transformer.jobs.queue import Claim, Kind, Queue
from transformer.training.run_folder import out_of_memory
from transformer.training.signals import stop_signals

QUEUE_POLL_SECONDS = 2.0  # seconds between two checks for jobs that another app has queued
CONTROL_POLL_SECONDS = 0.1  # seconds between two checks of what may end a job
SAVE_SECONDS = 20.0  # seconds to save the run when the app has ended
END_SECONDS = 3.0  # seconds for a job without saves to end before its process does
Execute = Callable[[Path], object]


class Worker:
    """Executes queued jobs until the app closes standard input.

    What ends a job early interrupts it like Ctrl-C, so that a trainer finishes its step and saves:
    the end of the app, a pause command of the owner (a paused run must free its worker), and for a
    job without saves a stop command, a time limit, or that no page asks for it any more.
    """

    def __init__(self, queue: Queue, worker_id: str, reports: TextIO) -> None:
        """Store the arguments; a line of JSON is written to `reports` for `WorkerPool`."""
        self.queue, self.worker_id = queue, worker_id
        self.kind = queue.kind
        self.memory_is_limited = False
        self._reports = reports
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._working = False
        self._interrupted = False
        self._timed_out = ""
        self._releasing = threading.Lock()
        self._warm = False
        self._problem = ""

    def listen(self) -> None:
        """Read standard input: a byte means that a job was queued, end of file that the app has
        ended."""
        while os.read(0, 4096):
            self._wake.set()
        if not self._warm:
            os._exit(0)  # there is nothing to save
        self._ending.set()
        self._wake.set()
        deadline = threading.Timer(SAVE_SECONDS, os._exit, [1])
        deadline.daemon = True
        deadline.start()
        self._interrupt()

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGTERM while the job does not, as the trainer does."""
        if self._working and self._interrupted:
            raise SystemExit(0)
        if not self._interrupted:  # not sent by this process
            self._ending.set()
            self._wake.set()

    def work(self, execute: Execute) -> None:
        """Claim and execute jobs until the app ends, none came for `idle_seconds`, memory was
        short, after which further allocations may fail, or a job was ended by a signal, as modules
        that it imported may be half loaded."""
        self._warm = True
        self._report(error="")
        idle_since = time.monotonic()
        while not self._ending.is_set():
            self._wake.clear()
            if claim := self._claim():
                error = self._run_claim(claim, execute)
                if isinstance(error, SystemExit) or self._is_short_of_memory(error):
                    return
                idle_since = time.monotonic()
                continue
            pause = QUEUE_POLL_SECONDS
            if self.kind.idle_seconds:
                pause = idle_since + self.kind.idle_seconds - time.monotonic()
                if pause <= 0:
                    return
            self._wake.wait(min(pause, QUEUE_POLL_SECONDS))

    def _claim(self) -> Claim | None:
        """Claim the next job; it stays queued while its state cannot be written."""
        try:
            claim = self.queue.claim_next(self.worker_id)
        except OSError as error:
            self._report_problem("a queued job cannot be started", error)
            return None
        self._report_solved()
        return claim

    def _run_claim(self, claim: Claim, execute: Execute) -> BaseException | None:
        """Execute the job, then release it, whatever happens; return the error, if any."""
        self._interrupted, self._timed_out, finished = False, "", threading.Event()
        watching = threading.Thread(target=self._watch, args=(claim, finished), daemon=True)
        watching.start()
        error: BaseException | None = None
        try:
            with redirect_output(claim.folder.log_path):
                error = self._execute(claim.folder.path, execute)
        finally:
            finished.set()
            self._release(claim, error)
            watching.join()
        return error

    def _release(self, claim: Claim, error: BaseException | None) -> None:
        """Write the final state; on a full disk report that and retry, since only this worker knows
        the state."""
        if self._timed_out:
            error, self._interrupted = JobError(self._timed_out), False
        elif self._is_short_of_memory(error):
            limit = f"the limit of {self.kind.memory / 1e9:.1f} GB"
            needed = limit if self.memory_is_limited else "is available"
            error = JobError(f"it needs more memory than {needed}; {self.kind.hint}")
        with self._releasing:
            while not claim.lock.closed:
                try:
                    self.queue.release(claim, error, self._interrupted)
                    self._report_solved()
                except OSError as full_disk:
                    self._report_problem("the end of a job cannot be stored", full_disk)
                    if self._ending.wait(QUEUE_POLL_SECONDS):
                        claim.lock.close()  # the next check of the runs finds it without a worker

    def _is_short_of_memory(self, error: BaseException | None) -> bool:
        """Whether a job without saves failed for want of memory."""
        return error is not None and out_of_memory(error) and not self.kind.saves

    def _execute(self, path: Path, execute: Execute) -> BaseException | None:
        """Execute the job; return the error, if any."""
        try:
            self._working = True
            if self._ending.is_set():
                self._interrupted = True
            else:
                execute(path)
        except SystemExit as caught:
            return caught
        except Exception as caught:
            with suppress(OSError):  # the log is on the same disk, which may be full
                traceback.print_exc()
            return caught
        finally:
            self._working = False
        return None

    def _watch(self, claim: Claim, finished: threading.Event) -> None:
        """Interrupt the job if there is a reason to; end the process if that has no effect."""
        began = time.monotonic()
        while not finished.wait(CONTROL_POLL_SECONDS):
            command = claim.folder.control().command
            if self.kind.saves:
                if command == "pause":
                    return self._interrupt()
                continue
            if 0 < self.kind.seconds < time.monotonic() - began:
                minutes = f"{self.kind.seconds / 60:g} min"
                self._timed_out = f"it took more than {minutes}, the limit here; {self.kind.hint}"
            abandoned = self.queue.mark_abandoned(claim.folder)
            if command == "stop" or self._timed_out or abandoned:
                self._interrupt()
            if self._interrupted and not finished.wait(END_SECONDS):
                self._release(claim, None)
                os._exit(0)

    def _interrupt(self) -> None:
        if self._working:
            self._interrupted = True
            _thread.interrupt_main(signal.SIGTERM)

    def _report_problem(self, problem: str, error: OSError) -> None:
        self._problem = f"{problem}: {error.strerror or error}"
        self._report(error=self._problem)

    def _report_solved(self) -> None:
        if self._problem:
            self._problem = ""
            self._report(error="")

    def _report(self, **report: str) -> None:
        with suppress(OSError):  # the app has ended
            print(json.dumps(report), file=self._reports, flush=True)


@contextmanager
def redirect_output(path: Path) -> Iterator[None]:
    """Send what this process prints, C++ included, to the end of a file."""
    saved: list[int] = []
    with suppress(OSError), path.open("ab", buffering=0) as file:
        saved = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, before in enumerate(saved, start=1):
            with suppress(OSError):
                (sys.stdout if number == 1 else sys.stderr).flush()
            os.dup2(before, number)
            os.close(before)


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


def main(settings: dict[str, Any]) -> int:
    """Execute jobs; the settings are the folder of jobs, the worker's id and fields of `Kind`."""
    kind = Kind(**{field.name: settings[field.name] for field in fields(Kind)})
    reports = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a job prints is no report
    print(json.dumps({"pid": os.getpid()}), file=reports, flush=True)
    worker = Worker(Queue(Path(settings["root"]), kind), settings["worker"], reports)
    for number in stop_signals():
        signal.signal(number, worker.on_signal)
    threading.Thread(target=worker.listen, daemon=True).start()
    module, function = kind.execute.split(":")
    executing_module = importlib.import_module(module)
    execute: Execute = getattr(executing_module, function)
    if warm_up := getattr(executing_module, "warm_up", None):
        warm_up(kind.threads)
    worker.memory_is_limited = limit_memory(kind.memory)
    worker.work(execute)
    return 0


if __name__ == "__main__":
    worker_settings = json.loads(sys.argv[1])
    if sys.platform != "win32":
        os.nice(worker_settings["nice"])
    code = main(worker_settings)
    sys.stderr.flush()
    os._exit(code)  # everything is written; torch shuts down slowly
