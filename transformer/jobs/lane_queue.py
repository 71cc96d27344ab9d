"""The queue of one lane: capacity, order, and dropping of abandoned requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from transformer.jobs.computation import Computation, Lane
from transformer.jobs.errors import JobError
from transformer.jobs.shares import Requester, address_quota, exceeded_quota, fair_order


@dataclass
class PendingRequest:
    """A requested computation that is waiting or running.

    Attributes:
        requester: who requested it first.
        visitors: all visitors who requested it and have not cancelled.
        last_polled: time of the last status request, in `time.monotonic` seconds.
        kill: function that ends the computation while it runs.
        cancelled: whether no visitor is left.
        killed: whether the running computation was ended.
    """

    computation: Computation
    requester: Requester
    visitors: set[str] = field(default_factory=set)
    last_polled: float = field(default_factory=time.monotonic)
    kill: Callable[[], None] | None = None
    cancelled: bool = False
    killed: bool = False


class LaneQueue:
    """Pending requests by key. Not thread-safe: the caller must hold a lock."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._requests: dict[str, PendingRequest] = {}  # in the order of submission
        self._current = ""  # key of the running one

    def get(self, key: str) -> PendingRequest | None:
        return self._requests.get(key)

    def order(self) -> list[str]:
        """Return all keys: the running one, then the waiting ones in their order."""
        current = [key for key in self._requests if key == self._current]
        waiting = [key for key in self._requests if key != self._current]
        if self.lane.newest_first:
            return current + sorted(
                waiting, key=lambda key: self._requests[key].last_polled, reverse=True
            )
        return current + fair_order(waiting, current, lambda key: self._requests[key].requester)

    def take_next(self) -> str:
        """Return the key of the next request, which is running until `remove`; "" if there is
        none."""
        self._current = next(iter(self.order()), "")
        return self._current

    def requests_ahead(self, key: str) -> int:
        """Return the number of requests before this one."""
        return self.order().index(key)

    def requests(self) -> list[PendingRequest]:
        return [*self._requests.values()]

    def add(self, key: str, request: PendingRequest) -> None:
        """Add a request. Raises JobError if there are too many, in total, of its visitor or of its
        network address, unless the lane is newest-first, which drops the oldest instead."""
        self.drop_abandoned()
        if not self.lane.newest_first:
            self._check_capacity(request.requester)
        self._requests[key] = request
        if len(self._requests) > self.lane.capacity:
            self.drop(self.order()[-1])

    def remove(self, key: str) -> None:
        """Remove a request that has ended."""
        del self._requests[key]
        self._current = ""

    def drop(self, key: str) -> None:
        """Cancel a request: kill it if it is running, else remove it."""
        request = self._requests[key]
        request.visitors.clear()
        request.cancelled = True
        if request.kill is not None:
            request.killed = True
            request.kill()
        elif key != self._current:
            del self._requests[key]

    def drop_abandoned(self) -> None:
        """Drop requests without a recent status request; a short one that is running continues."""
        oldest_poll = time.monotonic() - self.lane.abandoned_after
        for key in [
            key for key, request in self._requests.items() if request.last_polled < oldest_poll
        ]:
            if key != self._current or not self.lane.max_cpu_seconds:
                self.drop(key)

    def _check_capacity(self, requester: Requester) -> None:
        requesters = [request.requester for request in self._requests.values()]
        capacity, max_own = self.lane.capacity, self.lane.max_per_visitor
        if sum(pending.visitor == requester.visitor for pending in requesters) >= max_own:
            raise JobError(
                f"you have {max_own} measurements in progress; wait for one, or cancel it"
            )
        match exceeded_quota(requesters, requester, capacity):
            case "address":
                raise JobError(
                    f"{address_quota(capacity)} measurements from your address are in progress; "
                    f"try again when one is done"
                )
            case "all":
                raise JobError(
                    f"{capacity} measurements are in progress; try again when one is done"
                )
