"""How many browsers may join a class within a minute, and which were refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from transformer.classroom.codes import ClassroomError

JOIN_SECONDS = 60
MAX_REMEMBERED = 2000
"""Maximum number of browsers that a class remembers as seen, and as refused."""
RefusalReason = Literal["rate", "full"]
Value = TypeVar("Value")


class JoinLimit:
    """Limit on the new browsers that join one class within `JOIN_SECONDS`.

    A class allows more than it has seats, so that all its students can arrive at once. The limit
    slows down somebody who takes seats with ever new cookies while the teacher removes them. A
    browser that was in the class before is exempt. Browsers are remembered by a hash: no visitor
    is known after leaving. Not thread-safe; the class holds its lock.
    """

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        """`clock` is monotonic, in seconds."""
        self._limit, self._clock = limit, clock
        self._joined_at: dict[int, float] = {}
        self._seen: dict[int, None] = {}
        self._refused: dict[int, RefusalReason] = {}

    def check(self, visitor: str) -> None:
        """Raise ClassroomError if too many browsers have joined within `JOIN_SECONDS`."""
        since = self._clock() - JOIN_SECONDS
        self._joined_at = {join: at for join, at in self._joined_at.items() if at > since}
        if hash(visitor) in self._seen or len(self._joined_at) < self._limit:
            return
        self.refuse(visitor, "rate")
        raise ClassroomError(
            f"More than {self._limit} browsers joined this class within {JOIN_SECONDS} seconds; "
            "your teacher sees this and can let you join. Otherwise, try again in a minute."
        )

    def add(self, visitor: str) -> None:
        """Count a browser that has joined."""
        browser = hash(visitor)
        self._refused.pop(browser, None)
        if browser not in self._seen:
            self._joined_at[browser] = self._clock()
            _remember(self._seen, browser, None)

    def refuse(self, visitor: str, reason: RefusalReason) -> None:
        """Count a browser that was refused."""
        _remember(self._refused, hash(visitor), reason)

    def refused(self, reason: RefusalReason) -> int:
        """Return how many browsers were refused for this reason and have not joined since."""
        return [*self._refused.values()].count(reason)

    def lift(self) -> None:
        """Let browsers join again at once."""
        self._joined_at.clear()
        self._refused.clear()


def _remember(remembered: dict[int, Value], browser: int, value: Value) -> None:
    """Store a value; the oldest is removed first."""
    remembered.pop(browser, None)
    remembered[browser] = value
    while len(remembered) > MAX_REMEMBERED:
        del remembered[next(iter(remembered))]
