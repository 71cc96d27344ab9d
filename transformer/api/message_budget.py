"""How many messages somebody may send."""

from __future__ import annotations

import time
from collections.abc import Callable


class MessageBudget:
    """A token bucket: `burst` messages at once, `per_second` on average. Not thread-safe."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._tokens, self._filled_at = float(burst), clock()

    def take(self) -> bool:
        """Count a message; return whether the budget allows it."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
