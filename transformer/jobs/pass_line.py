"""The line of passes over a corpus: who may ask, whose turn is next, and what nobody waits for."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from transformer.jobs.errors import JobError
from transformer.jobs.shares import Who, of_address, refused

PLACES = 44
"""Passes under way, the one that runs and those that wait; an address may have half of them."""
OF_A_VISITOR = 20
"""Passes that one visitor may have asked for at a time: enough for every finding at once."""
LEFT = 180.0
"""Seconds after which a pass that none of its visitors looks at makes room for others."""


@dataclass
class Asked:
    """One pass that somebody waits for.

    Attributes:
        first: who asked first; visitors: all who did and still wait.
        looked: when one of them looked last, in `time.monotonic` seconds.
        cancelled: nobody wants it any more; killed: its process was ended for that.
    """

    ask: dict[str, Any]
    first: Who
    visitors: set[str] = field(default_factory=set)
    looked: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[bytes] | None = None
    cancelled: bool = False
    killed: bool = False

    @property
    def group(self) -> str:
        """Whose turn it takes: an address's, or where that is not known a visitor's."""
        return self.first.address or f"visitor {self.first.visitor}"


class Line:
    """Passes by key, the first one runs. Not safe for threads: whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}

    def get(self, key: str) -> Asked | None:
        return self._asked.get(key)

    def first(self) -> str:
        """The key of the pass whose turn it is; "" if there is none."""
        return next(iter(self._asked), "")

    def place(self, key: str) -> int:
        """How many are before it."""
        return [*self._asked].index(key)

    def all(self) -> list[Asked]:
        return [*self._asked.values()]

    def add(self, key: str, asked: Asked) -> None:
        """Put a pass in line: everyone's first comes before anyone's second.

        Raises:
            JobError: if there are enough, of all, of this visitor or of this address.
        """
        self.drop_left()
        self._make_sure_of_room(asked.first)
        before, order = Counter[str](), list(self._asked.items())
        rank = sum(other.group == asked.group for other in self._asked.values())
        at = len(order)
        for place, (_, other) in enumerate(order):
            if place and before[other.group] > rank:
                at = place
                break
            before[other.group] += 1
        self._asked = dict([*order[:at], (key, asked), *order[at:]])

    def remove(self, key: str) -> None:
        """It has ended."""
        del self._asked[key]

    def end(self, key: str) -> None:
        """Nobody wants it: its process is killed, or its place is free."""
        asked = self._asked[key]
        asked.visitors.clear()
        asked.cancelled = True
        if asked.process is not None:
            asked.killed = True
            asked.process.kill()
        elif self.first() != key:
            del self._asked[key]

    def drop_left(self) -> None:
        """End what nobody has looked at for a while, for the sake of those who wait."""
        late = time.monotonic() - LEFT
        for key in [key for key, asked in self._asked.items() if asked.looked < late]:
            self.end(key)

    def _make_sure_of_room(self, who: Who) -> None:
        taken = [asked.first for asked in self._asked.values()]
        if sum(one.visitor == who.visitor for one in taken) >= OF_A_VISITOR:
            raise JobError(
                f"you have {OF_A_VISITOR} measurements under way; wait for one, or cancel it"
            )
        match refused(taken, who, PLACES):
            case "address":
                raise JobError(
                    f"{of_address(PLACES)} measurements from your address are under way; try again "
                    "when one is done"
                )
            case "all":
                raise JobError(
                    f"{PLACES} measurements are under way already; try again when one is done"
                )
