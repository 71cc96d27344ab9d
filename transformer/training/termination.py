"""The wish that a training process ends: Ctrl-C or a polite kill, granted after the step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignal:
    """Ctrl-C and a polite kill (SIGTERM), taken as a wish, granted at the end of the step."""

    def __init__(self) -> None:
        self.came = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block, these signals set `came` and do nothing else."""

        def note(number: int, frame: FrameType | None) -> None:
            self.came = True

        try:
            before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: who started it gets the signals
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
