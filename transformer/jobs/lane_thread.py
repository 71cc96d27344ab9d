"""The thread that runs the computations of one lane, one after the other."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from transformer.jobs import results
from transformer.jobs.computation import Lane
from transformer.jobs.errors import JobError
from transformer.jobs.lane_queue import LaneQueue, PendingRequest
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor
from transformer.text.files import write_json

LOCK_POLL_SECONDS = 0.5  # how often to check whether another app has finished the computation


class LaneThread:
    """The queue of a lane and the thread that processes it, started on the first request.

    Attributes:
        guard: lock for all access to the other attributes.
        unwritten_reasons: reasons of failures that could not be written to disk, by key.
    """

    def __init__(
        self,
        name: str,
        lane: Lane,
        limits: Limits,
        folder: Path,
        executor: LaneExecutor,
        latest: results.LatestIndex,
    ) -> None:
        self.guard = threading.Condition()
        self.queue = LaneQueue(lane)
        self.unwritten_reasons: dict[str, str] = {}
        self._name, self._lane, self._folder, self._executor = name, lane, folder, executor
        self._latest = latest
        self._max_seconds = lane.seconds or 60 * limits.pass_minutes
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def start(self) -> None:
        """Start or notify the thread after a request was added; the caller holds the guard."""
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self.guard.notify()

    def close(self) -> None:
        """Kill the running computation and drop all requests."""
        self._closing.set()
        with self.guard:
            thread = self._thread
            for request in self.queue.requests():
                request.cancelled = request.killed = True
                if request.kill is not None:
                    request.kill()
            self.guard.notify()
        if thread is not None:
            thread.join()

    def _next(self) -> str:
        """Wait for the next request and return its key; "" after `idle_seconds` without one or on
        closing, when the thread ends."""
        with self.guard:
            self.queue.drop_abandoned()
            if not self.queue.requests() and not self._closing.is_set():
                self.guard.wait(self._lane.idle_seconds)
                self.queue.drop_abandoned()
            key = "" if self._closing.is_set() else self.queue.take_next()
            if not key:
                self._thread = None
                self._executor.close()
        return key

    def _work(self) -> None:
        """Run requests one after the other until none has arrived for `idle_seconds`."""
        while key := self._next():
            folder, request = self._folder / key, self.queue.get(key)
            assert request
            try:
                reason = self._compute(folder, request)
            except OSError as error:
                reason = f"it could not be computed: {error.strerror or error}"
            self.record_result(key, request)
            with suppress(OSError):  # another app may be using it
                results.remove_oldest(
                    [*self._folder.glob(f"{self._name}-*")],
                    self._lane.max_results,
                    protected=folder,
                )
            with self.guard:
                resubmit = (
                    request.killed and not request.cancelled
                )  # requested again while it ended
                self._store_reason(folder, "" if request.killed else reason)
                with suppress(OSError):
                    results.clean_up(folder)
                self.queue.remove(key)
                if resubmit:
                    with suppress(JobError):  # its requester may have reached the limit meanwhile
                        self.queue.add(
                            key,
                            PendingRequest(
                                request.computation, request.requester, request.visitors
                            ),
                        )

    def record_result(self, key: str, request: PendingRequest) -> None:
        """Record the result as the latest of its subject, if there is one. The lock
        prevents that the result is discarded between the check and the record."""
        with self.guard:
            if (self._folder / key / results.RESULT).is_file():
                self._latest.record(request.computation.subject, key)

    def _store_reason(self, folder: Path, reason: str) -> None:
        """Write the reason of a failure to its folder, or keep it in memory if the disk is full."""
        key = folder.name
        self.unwritten_reasons.pop(key, None)
        if reason and not results.has_ended(folder):
            try:
                write_json(folder / results.FAILED, {"reason": reason})
            except OSError:
                self.unwritten_reasons[key] = reason
        for oldest_key in [*self.unwritten_reasons][: -self._lane.max_results]:
            del self.unwritten_reasons[oldest_key]

    def _compute(self, folder: Path, request: PendingRequest) -> str:
        """Run a computation and wait for its end; return why there is no result, or ""."""
        while (lock := results.lock_folder(folder)) is None:  # another app computes the same
            if request.cancelled or self._closing.wait(LOCK_POLL_SECONDS):
                return ""
        with lock:
            if (folder / results.RESULT).is_file():
                return ""
            for file_name in (results.FAILED, results.PROGRESS):
                (folder / file_name).unlink(missing_ok=True)
            write_json(folder / results.REQUEST, dict(request.computation.arguments))
            with self.guard:
                if request.cancelled:
                    return ""
                self._executor.begin(folder, request.computation)
                request.kill = self._executor.kill
            timed_out = threading.Event()
            timer = threading.Timer(self._max_seconds, self._time_out, (timed_out,))
            timer.daemon = True
            timer.start()
            code = self._executor.wait()
            timer.cancel()
            return (
                "" if results.has_ended(folder) else self._failure_reason(code, timed_out.is_set())
            )

    def _time_out(self, timed_out: threading.Event) -> None:
        timed_out.set()
        self._executor.kill()

    def _failure_reason(self, code: int, timed_out: bool) -> str:
        cpu_seconds = self._lane.max_cpu_seconds
        if timed_out or (cpu_seconds and code not in (results.EXIT_FAILED, results.EXIT_DISK_FULL)):
            amount, unit = cpu_seconds or self._max_seconds, "second"
            if amount < 1 or amount >= 60:
                amount, unit = amount / 60, "minute"
            allowed = f"{amount:g} {unit}{'' if amount == 1 else 's'}"
            return f"it took more than the {allowed} that this app allows; {self._lane.hint}"
        if code == results.EXIT_DISK_FULL:
            return results.DISK_FULL
        return f"its process ended ({code}) before it was done; try again"
