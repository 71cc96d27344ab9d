"""`python -m transformer.jobs.worker`: a warm process that trains one run after the other."""

from __future__ import annotations

import _thread
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from transformer.jobs import claims
from transformer.jobs.claims import WorkerCapacity
from transformer.jobs.processes import limit_memory
from transformer.jobs.queue import Queue

QUEUE_POLL_SECONDS = 2.0  # seconds between two checks for runs that another app has queued
CONTROL_POLL_SECONDS = 0.1  # seconds between two checks for a pause command
SAVE_SECONDS = 20.0  # seconds to save the run when the app has ended
Train = Callable[[Path], object]


class Worker:
    """Trains queued runs until the app closes standard input.

    Two events interrupt a run like Ctrl-C, so that the trainer finishes its step and saves: the end
    of the app, and a pause command of the owner, because a paused run must free its worker.
    """

    def __init__(self, queue: Queue, token: str, capacity: WorkerCapacity) -> None:
        self.queue, self.token, self.capacity = queue, token, capacity
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._training = False
        self._interrupted = False
        self._warm = False

    def listen(self) -> None:
        """Read standard input: a byte means that a run was queued, end of file that the app has
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
        """Handle SIGTERM while the trainer does not: the run is still being prepared."""
        if self._training and self._interrupted:
            raise SystemExit(0)
        if not self._interrupted:  # not sent by this process
            self._ending.set()
            self._wake.set()

    def work(self, train: Train) -> None:
        """Claim and train runs until the app ends."""
        self._warm = True
        while not self._ending.is_set():
            self._wake.clear()
            claim = None
            try:
                claim = claims.claim_next_run(self.queue, self.token, self.capacity)
            except OSError:
                traceback.print_exc()  # the run stays queued until its state can be written
            if claim is None:
                self._wake.wait(QUEUE_POLL_SECONDS)
            else:
                self._run_claim(claim, train)

    def _run_claim(self, claim: claims.ClaimedRun, train: Train) -> None:
        """Train the run, then release it, whatever happens."""
        self._interrupted, finished = False, threading.Event()
        polling = threading.Thread(target=self._poll_control, args=(claim, finished), daemon=True)
        polling.start()
        error: BaseException | None = None
        try:
            with redirect_output(claim.folder.log_path):
                error = self._train(claim.folder.path, train)
        finally:
            finished.set()
            polling.join()
            self._release(claim, error)

    def _release(self, claim: claims.ClaimedRun, error: BaseException | None) -> None:
        """Write the final state; on a full disk retry, since only this worker knows the outcome."""
        reported = False
        with claim.lock:
            while not claim.lock.closed:
                try:
                    return claims.release_run(self.queue, claim, error, self._interrupted)
                except OSError:
                    if not reported:
                        traceback.print_exc()
                    reported = True
                if self._ending.wait(QUEUE_POLL_SECONDS):
                    return None  # the next check of the runs finds it without a worker

    def _train(self, path: Path, train: Train) -> BaseException | None:
        """Train the run; return the error, if any."""
        try:
            self._training = True
            if self._ending.is_set():
                self._interrupted = True
            else:
                train(path)
        except SystemExit as caught:
            return caught
        except Exception as caught:
            traceback.print_exc()
            return caught
        finally:
            self._training = False
        return None

    def _poll_control(self, claim: claims.ClaimedRun, finished: threading.Event) -> None:
        while not finished.wait(CONTROL_POLL_SECONDS):
            if claim.folder.control().command == "pause":
                return self._interrupt()

    def _interrupt(self) -> None:
        if self._training:
            self._interrupted = True
            _thread.interrupt_main(signal.SIGTERM)


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


def main(argv: list[str]) -> int:
    """Arguments: folder of runs, "module:function", worker id, threads of torch, cores of all
    workers, niceness, bytes of memory."""
    root, trainer, token, threads, cores, nice, max_bytes = argv
    if hasattr(os, "nice"):
        os.nice(int(nice))
    worker = Worker(Queue(Path(root)), token, WorkerCapacity(int(cores), int(threads)))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.on_signal)
    threading.Thread(target=worker.listen, daemon=True).start()
    module, function = trainer.split(":")
    trainer_module = importlib.import_module(module)
    train: Train = getattr(trainer_module, function)
    if warm_up := getattr(trainer_module, "warm_up", None):
        warm_up(int(threads))
    limit_memory(int(max_bytes))
    with suppress(BrokenPipeError):
        os.write(1, b"ready\n")
    os.dup2(2, 1)  # the app reads no output after this point
    worker.work(train)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # everything is written; torch shuts down slowly
