"""Computations requested by pages, run in other processes, with stored results.

    computing = ComputationService(runs_folder(), limits)
    key = computing.submit(report_computation(folder, model.hash, "heads", corpus, {}), visitor="…")
    computing.status(key).status   # on every rerun, in any session
    computing.result(key)        # what `analyse --json` writes, once it is "done"

Results are kept when the app ends; waiting and unfinished computations are dropped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from transformer.jobs.computation import LANES, Computation, Lane, lane_of
from transformer.jobs.errors import JobError, as_job_error
from transformer.jobs.lane_queue import PendingRequest
from transformer.jobs.lane_thread import LaneThread
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor, LaneProcess
from transformer.jobs.results import (
    FAILED,
    PROGRESS,
    RESULT,
    ComputationStatus,
    LatestIndex,
    LatestResult,
    clean_up,
    read_or_empty,
)
from transformer.jobs.shares import Requester

RESULTS_FOLDER = ".results"
DEFAULT_LIMITS = Limits()


class ComputationService(AbstractContextManager["ComputationService"]):
    """The computations of one folder, for all sessions of one server. All methods are thread-safe.

    Equal requests of two visitors are one computation, and everyone can read the result.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        lanes: Mapping[str, Lane] = LANES,
        executor: Callable[[Lane, Limits], LaneExecutor] = LaneProcess,
    ) -> None:
        """Open the folder of results and remove unfinished computations of a killed app.

        Args:
            root: the folder of runs; results are in a hidden subfolder.
            limits: maximum time and memory of a computation, and its priority.
            executor: creates the executor of each lane.

        Raises JobError if the folder cannot be created or written.
        """
        self._folder = Path(root).resolve() / RESULTS_FOLDER
        with as_job_error("the folder of results cannot be used"):
            self._folder.mkdir(parents=True, exist_ok=True)
            for folder in self._folder.iterdir():
                clean_up(folder)
        self._latest = LatestIndex(Path(root).resolve(), self._folder)
        self._lanes = {
            name: LaneThread(name, lane, limits, self._folder, executor(lane, limits), self._latest)
            for name, lane in lanes.items()
        }

    def submit(
        self, computation: Computation, *, visitor: str, address: str = "", force: bool = False
    ) -> str:
        """Queue a computation unless its result exists; return its key.

        Args:
            visitor, address: who requests it (and may cancel it), and from which address.
            force: discard an existing result.

        Raises JobError if there are too many requests, in total, of this visitor or this address.
        """
        key, lane = computation.key, self._lanes[computation.lane]
        with lane.guard:
            request, result = lane.queue.get(key), self._folder / key / RESULT
            if result.is_file():
                if request is None and not force:
                    return key
                if force:
                    result.unlink(missing_ok=True)
                    self._latest.forget(computation.subject)
                    if request is not None and request.kill is not None:
                        request.killed = True  # its thread notices the kill and runs it again
            if request is None:
                request = PendingRequest(computation, Requester(visitor, address))
                lane.queue.add(key, request)
            lane.unwritten_reasons.pop(key, None)
            request.visitors.add(visitor)
            request.cancelled, request.last_polled = False, time.monotonic()
            lane.start()
        return key

    def status(self, key: str, visitor: str = "") -> ComputationStatus:
        """Return the status, for a page to show at every rerun."""
        folder, lane = self._folder / key, self._lanes[lane_of(key)]
        with lane.guard:
            request = lane.queue.get(key)
            ahead = lane.queue.requests_ahead(key) if request else 0
            is_requester = request is not None and visitor in request.visitors
            if request is not None and is_requester:
                request.last_polled = time.monotonic()
            if ahead:
                lane.queue.drop_abandoned()
            unwritten = lane.unwritten_reasons.get(key, "")
        if (folder / RESULT).is_file():
            if request is not None:  # its thread may not have recorded the result yet
                lane.record_result(key, request)
            return ComputationStatus(key, "done", 1.0)
        if request is not None and not request.cancelled:
            if ahead:
                return ComputationStatus(
                    key, "waiting", requests_ahead=ahead, is_requester=is_requester
                )
            reported = read_or_empty(folder / PROGRESS)
            done, stage = reported.get("progress", 0.0), reported.get("stage", "starting")
            return ComputationStatus(
                key, "running", float(done), str(stage), is_requester=is_requester
            )
        if reason := unwritten or str(read_or_empty(folder / FAILED).get("reason", "")):
            return ComputationStatus(key, "failed", reason=reason)
        return ComputationStatus(key, "absent")

    def result(self, key: str) -> dict[str, Any]:
        """Return the result. Raises JobError if it is not stored (any more)."""
        path = self._folder / key / RESULT
        result_content = read_or_empty(path)
        if not result_content:
            raise JobError("this measurement is no longer stored; request it again")
        with suppress(OSError):
            os.utime(path)  # marks it as used last
        return result_content

    def latest(self, subject: str) -> LatestResult | None:
        """Return the last result on a subject, of any computation; None if not found."""
        return self._latest.find(subject)

    def cancel(self, key: str, visitor: str) -> None:
        """Withdraw a visitor's request; the computation is cancelled if no other visitor has
        requested it."""
        lane = self._lanes[lane_of(key)]
        with lane.guard:
            request = lane.queue.get(key)
            if request is None or visitor not in request.visitors:
                return
            request.visitors.discard(visitor)
            if not request.visitors:
                lane.queue.drop(key)

    def close(self) -> None:
        """Kill running computations."""
        for lane in self._lanes.values():
            lane.close()

    def __exit__(self, *_: object) -> None:
        self.close()
