"""Slots for computations on this machine's processors, shared fairly between visitors and their
network addresses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TURN_SECONDS = 0.2
"""Seconds that a computation may take before it lets other visitors compute."""
MAX_SHARES = 3
"""Visitors of one address that count: more get the turns of this many together, since anyone can
have many cookies. A class behind one router has these turns whenever other addresses wait."""


class FairSlots:
    """Slots of which a visitor has at most one at a time; waiting visitors take turns.

    Addresses share the turns in proportion to their visitors who wait or compute, of whom at most
    `MAX_SHARES` count. This is stride scheduling: the next turn belongs to the address with the
    lowest pass, and adds 1 / shares to it (Waldspurger and Weihl 1995).

    A computation that calls `give_way` between its steps lets others compute after each turn.
    """

    def __init__(self, count: int, address_of: Callable[[str], str] = lambda v: v) -> None:
        """
        Args:
            count: number of slots, at least 1.
            address_of: returns the address of a visitor; by default each visitor has one.
        """
        self._free, self._changed, self._address_of = count, threading.Condition(), address_of
        self._waiting: list[str] = []  # visitors, once for each waiting computation
        self._computing: set[str] = set()
        self._last_turns: dict[str, int] = {}  # of the visitors who wait or compute
        self._addresses: dict[str, str] = {}  # of the same visitors
        self._passes: dict[str, float] = {}  # of their addresses
        self._address_turns: dict[str, int] = {}  # the last turn of each address
        self._current_pass = 0.0  # of the address that had the last turn, before it
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
            address = self._addresses.setdefault(visitor, self._address_of(visitor))
            self._passes.setdefault(address, self._current_pass)
            self._address_turns.setdefault(address, 0)
            self._changed.wait_for(lambda: self._next_visitor() == visitor)
            self._waiting.remove(visitor)
            self._computing.add(visitor)
            self._free -= 1
            self._n_turns += 1
            self._last_turns[visitor] = self._address_turns[address] = self._n_turns
            shares = min(MAX_SHARES, [*self._addresses.values()].count(address))
            self._current_pass = self._passes[address]
            self._passes[address] += 1 / shares
            self._changed.notify_all()  # another slot may be free for the next visitor
        self._own.visitor, self._own.since = visitor, time.monotonic()

    def _release(self, visitor: str) -> None:
        self._own.visitor = None
        with self._changed:
            self._computing.remove(visitor)
            self._free += 1
            if visitor not in self._waiting:
                del self._last_turns[visitor]
                address = self._addresses.pop(visitor)
                if address not in self._addresses.values():
                    del self._passes[address], self._address_turns[address]
            self._changed.notify_all()

    def _next_visitor(self) -> str | None:
        """Return the waiting visitor whose turn it is; None without a free slot."""
        candidates = [visitor for visitor in self._waiting if visitor not in self._computing]
        if not self._free or not candidates:
            return None
        return min(candidates, key=self._priority)

    def _priority(self, visitor: str) -> tuple[float, int, int]:
        address = self._addresses[visitor]
        return self._passes[address], self._address_turns[address], self._last_turns[visitor]
