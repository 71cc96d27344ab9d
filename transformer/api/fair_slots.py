"""Slots for computations on this machine's processors, shared fairly between visitors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TURN_SECONDS = 0.2
"""Seconds that a computation may take before it lets other visitors compute."""


class FairSlots:
    """Slots of which a visitor has at most one at a time; waiting visitors take turns.

    A computation that calls `give_way` between its steps lets others compute after each turn.
    """

    def __init__(self, count: int) -> None:
        """`count` is the number of slots, at least 1."""
        self._free, self._changed = count, threading.Condition()
        self._waiting: list[str] = []  # visitors, once for each waiting computation
        self._computing: set[str] = set()
        self._last_turns: dict[str, int] = {}  # of the visitors who wait or compute
        self._n_turns = 0
        self._own = threading.local()  # the visitor for whom this thread computes, and since when

    def has_slot(self) -> bool:
        """Return whether this thread has a slot."""
        return getattr(self._own, "visitor", None) is not None

    @contextmanager
    def slot(self, visitor: str) -> Iterator[None]:
        """Wait for a slot of this visitor, and hold it during the block; a thread that has one
        already does not wait."""
        if self.has_slot():
            yield
            return
        self._acquire(visitor)
        try:
            yield
        finally:
            self._release(visitor)

    def give_way(self) -> None:
        """Let waiting visitors compute first if this thread's turn is over; do nothing without a
        slot."""
        visitor = getattr(self._own, "visitor", None)
        if visitor is None or time.monotonic() < self._own.since + TURN_SECONDS:
            return
        with self._changed:
            others_wait = any(waiting != visitor for waiting in self._waiting)
        if others_wait:
            self._release(visitor)
            self._acquire(visitor)

    def _acquire(self, visitor: str) -> None:
        with self._changed:
            self._waiting.append(visitor)
            self._last_turns.setdefault(visitor, 0)
            self._changed.wait_for(lambda: self._next_visitor() == visitor)
            self._waiting.remove(visitor)
            self._computing.add(visitor)
            self._free -= 1
            self._n_turns += 1
            self._last_turns[visitor] = self._n_turns
            self._changed.notify_all()  # another slot may be free for the next visitor
        self._own.visitor, self._own.since = visitor, time.monotonic()

    def _release(self, visitor: str) -> None:
        self._own.visitor = None
        with self._changed:
            self._computing.remove(visitor)
            self._free += 1
            if visitor not in self._waiting:
                del self._last_turns[visitor]
            self._changed.notify_all()

    def _next_visitor(self) -> str | None:
        """Return the waiting visitor whose last turn was longest ago; None without a free slot."""
        candidates = [visitor for visitor in self._waiting if visitor not in self._computing]
        return (
            min(candidates, key=self._last_turns.__getitem__) if self._free and candidates else None
        )
