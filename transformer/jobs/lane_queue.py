"""The line of one lane: who may ask, whose turn is next, and what nobody waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from transformer.jobs.computation import Computation, Lane
from transformer.jobs.errors import JobError
from transformer.jobs.shares import Requester, address_quota, exceeded_quota, fair_order


@dataclass
class PendingRequest:
    """One computation that somebody waits for.

    Attributes:
        first: who asked first; visitors: all who did and still wait.
        looked: when one of them looked last, in `time.monotonic` seconds.
        kill: ends it, while it runs.
        cancelled: nobody wants it any more; killed: it was ended for that.
    """

    computation: Computation
    requester: Requester
    visitors: set[str] = field(default_factory=set)
    last_polled: float = field(default_factory=time.monotonic)
    kill: Callable[[], None] | None = None
    cancelled: bool = False
    killed: bool = False


class LaneQueue:
    """Computations by key. Not safe for threads: whoever uses it holds a lock."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._requests: dict[str, PendingRequest] = {}  # in the order of coming
        self._current = ""  # the one whose turn it is

    def get(self, key: str) -> PendingRequest | None:
        return self._requests.get(key)

    def order(self) -> list[str]:
        """All keys: the one whose turn it is, then the next, and so on."""
        current = [key for key in self._requests if key == self._current]
        waiting = [key for key in self._requests if key != self._current]
        if self.lane.newest_first:
            return current + sorted(
                waiting, key=lambda key: self._requests[key].last_polled, reverse=True
            )
        return current + fair_order(waiting, current, lambda key: self._requests[key].requester)

    def take_next(self) -> str:
        """The key of the next, whose turn it is until `remove`; "" if there is none."""
        self._current = next(iter(self.order()), "")
        return self._current

    def requests_ahead(self, key: str) -> int:
        """How many are before it."""
        return self.order().index(key)

    def requests(self) -> list[PendingRequest]:
        return [*self._requests.values()]

    def add(self, key: str, request: PendingRequest) -> None:
        """Put one in line. Raises JobError if there are enough, of all, of one visitor or of one
        address, in a lane that refuses any."""
        self.drop_abandoned()
        if not self.lane.newest_first:
            self._check_capacity(request.requester)
        self._requests[key] = request
        if len(self._requests) > self.lane.capacity:
            self.drop(self.order()[-1])

    def remove(self, key: str) -> None:
        """It has ended."""
        del self._requests[key]
        self._current = ""

    def drop(self, key: str) -> None:
        """Nobody wants it: it is killed, or its place is free."""
        request = self._requests[key]
        request.visitors.clear()
        request.cancelled = True
        if request.kill is not None:
            request.killed = True
            request.kill()
        elif key != self._current:
            del self._requests[key]

    def drop_abandoned(self) -> None:
        """End what nobody has looked at for a while, for the sake of those who wait; what runs and
        is over in some seconds is left alone."""
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
            raise JobError(f"you have {max_own} measurements under way; wait for one, or cancel it")
        match exceeded_quota(requesters, requester, capacity):
            case "address":
                raise JobError(
                    f"{address_quota(capacity)} measurements from your address are under way; "
                    "try again when one is done"
                )
            case "all":
                raise JobError(
                    f"{capacity} measurements are under way already; try again when one is done"
                )
