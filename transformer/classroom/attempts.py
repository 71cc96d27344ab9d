"""How often somebody may be wrong: so many times in so many minutes, by visitor and by address."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

MINUTES = 10
KEYS = 4096
"""Visitors and addresses that are remembered at most; the longest ago are forgotten first."""


class Attempts:
    """Wrong guesses of the last minutes. Not locked: `Classes` is.

    A visitor is a cookie that can be dropped, so an address has a limit too; a class may share one.
    """

    def __init__(self, visitor: int, address: int, clock: Callable[[], float]) -> None:
        """
        Args:
            visitor: wrong guesses that one visitor has; address: those of one address.
            clock: seconds, from anywhere on.
        """
        self._limits, self._clock = (visitor, address), clock
        self._wrong: OrderedDict[tuple[int, str], deque[float]] = OrderedDict()

    def is_refused(self, visitor: str, address: str) -> bool:
        """Whether there were too many already; then a right guess must not be heard either."""
        return any(
            len(self._recent(key)) >= limit
            for key, limit in zip(enumerate((visitor, address)), self._limits, strict=True)
        )

    def wrong(self, visitor: str, address: str) -> None:
        """Another wrong guess."""
        for key in enumerate((visitor, address)):
            recent = self._recent(key)
            recent.append(self._clock())
            self._wrong[key] = recent
            self._wrong.move_to_end(key)
        while len(self._wrong) > KEYS:
            self._wrong.popitem(last=False)

    def _recent(self, key: tuple[int, str]) -> deque[float]:
        found = self._wrong.get(key, deque())
        while found and found[0] <= self._clock() - 60 * MINUTES:
            found.popleft()
        return found
