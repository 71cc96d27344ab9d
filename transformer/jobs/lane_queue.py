"""The line of one lane: who may ask, whose turn is next, and what nobody waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from transformer.jobs.computation import Computation, Lane
from transformer.jobs.errors import JobError
from transformer.jobs.shares import Who, in_turn, of_address, refused


@dataclass
class Asked:
    """One computation that somebody waits for.

    Attributes:
        first: who asked first; visitors: all who did and still wait.
        looked: when one of them looked last, in `time.monotonic` seconds.
        kill: ends it, while it runs.
        cancelled: nobody wants it any more; killed: it was ended for that.
    """

    what: Computation
    first: Who
    visitors: set[str] = field(default_factory=set)
    looked: float = field(default_factory=time.monotonic)
    kill: Callable[[], None] | None = None
    cancelled: bool = False
    killed: bool = False


class Line:
    """Computations by key. Not safe for threads: whoever uses it holds a lock."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._asked: dict[str, Asked] = {}  # in the order of coming
        self._first = ""  # the one whose turn it is

    def get(self, key: str) -> Asked | None:
        return self._asked.get(key)

    def order(self) -> list[str]:
        """All keys: the one whose turn it is, then the next, and so on."""
        now = [key for key in self._asked if key == self._first]
        rest = [key for key in self._asked if key != self._first]
        if self.lane.newest_first:
            return now + sorted(rest, key=lambda key: self._asked[key].looked, reverse=True)
        return now + in_turn(rest, now, lambda key: self._asked[key].first)

    def take(self) -> str:
        """The key of the next, whose turn it is until `remove`; "" if there is none."""
        self._first = next(iter(self.order()), "")
        return self._first

    def place(self, key: str) -> int:
        """How many are before it."""
        return self.order().index(key)

    def all(self) -> list[Asked]:
        return [*self._asked.values()]

    def add(self, key: str, asked: Asked) -> None:
        """Put one in line. Raises JobError if there are enough, of all, of one visitor or of one
        address, in a lane that refuses any."""
        self.drop_left()
        if not self.lane.newest_first:
            self._make_sure_of_room(asked.first)
        self._asked[key] = asked
        if len(self._asked) > self.lane.places:
            self.end(self.order()[-1])

    def remove(self, key: str) -> None:
        """It has ended."""
        del self._asked[key]
        self._first = ""

    def end(self, key: str) -> None:
        """Nobody wants it: it is killed, or its place is free."""
        asked = self._asked[key]
        asked.visitors.clear()
        asked.cancelled = True
        if asked.kill is not None:
            asked.killed = True
            asked.kill()
        elif key != self._first:
            del self._asked[key]

    def drop_left(self) -> None:
        """End what nobody has looked at for a while, for the sake of those who wait; what runs and
        is over in some seconds is left alone."""
        late = time.monotonic() - self.lane.left
        for key in [key for key, asked in self._asked.items() if asked.looked < late]:
            if key != self._first or not self.lane.processor:
                self.end(key)

    def _make_sure_of_room(self, who: Who) -> None:
        taken = [asked.first for asked in self._asked.values()]
        places, own = self.lane.places, self.lane.of_a_visitor
        if sum(one.visitor == who.visitor for one in taken) >= own:
            raise JobError(f"you have {own} measurements under way; wait for one, or cancel it")
        match refused(taken, who, places):
            case "address":
                raise JobError(
                    f"{of_address(places)} measurements from your address are under way; try again "
                    "when one is done"
                )
            case "all":
                raise JobError(
                    f"{places} measurements are under way already; try again when one is done"
                )
