"""Control of a running training by file or signal: pause, stop, save, learning rate."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args

from transformer.config import did_you_mean

Command = Literal["run", "pause", "stop"]
POLL_SECONDS = 0.1  # minimum time between two checks of the file
PAUSE_POLL_SECONDS = 0.05  # time between two checks while the run is paused


@dataclass(frozen=True)
class Control:
    """The content of control.json.

    Attributes:
        command: "run", "pause" or "stop".
        learning_rate_factor: factor of the schedule's learning rate, 0 to 100.
        save: a counter; the run is saved whenever it has increased.
    """

    command: str = "run"
    learning_rate_factor: float = 1.0
    save: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Control:
        """Return a Control with defaults for missing fields; unknown fields are ignored.

        Raises ValueError for an invalid value.
        """
        command, factor = values.get("command", "run"), values.get("learning_rate_factor", 1.0)
        save = values.get("save", 0)
        if command not in get_args(Command):
            known = ", ".join(get_args(Command))
            hint = did_you_mean(str(command), get_args(Command))
            raise ValueError(f"the command must be one of {known}, not {command!r}{hint}")
        if not isinstance(factor, int | float) or not 0 <= factor <= 100:  # no NaN either
            raise ValueError(f"learning_rate_factor must be from 0 to 100, not {factor!r}")
        if not isinstance(save, int) or save < 0:
            raise ValueError(f"save must be a count, 0 or more, not {save!r}")
        return cls(command, float(factor), save)


class ControlFile:
    """Reader of the control file, cheap enough to poll at every step.

    Checks the file's time and size at most every 0.1 s, and reads it when they changed.
    """

    def __init__(self, path: Path, read: Callable[[], Control]) -> None:
        """`read` returns the content of the file at `path`."""
        self.path, self.read = path, read
        self._stamp: tuple[int, ...] = ()
        self._last_poll = -math.inf
        self._control = Control()
        self._saved = self.poll(force=True).save

    def poll(self, force: bool = False) -> Control:
        """Return the current content of the file, reading it again if it changed."""
        now = time.monotonic()
        if force or now - self._last_poll >= POLL_SECONDS:
            self._last_poll = now
            stamp = self._stamp_of_file()
            if stamp != self._stamp:
                self._stamp, self._control = stamp, self.read()
        return self._control

    def save_requested(self) -> bool:
        """Return True once for every increase of the save counter."""
        requested = self._control.save > self._saved
        self._saved = self._control.save
        return requested

    def _stamp_of_file(self) -> tuple[int, ...]:
        try:
            stat = os.stat(self.path)
        except OSError:
            return ()
        return stat.st_mtime_ns, stat.st_size, stat.st_ino


class StopSignal:
    """Handler of SIGINT and SIGTERM, so that a run can finish its step before it stops."""

    def __init__(self) -> None:
        self.received = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block, these signals set `received` and do nothing else."""

        def set_received(number: int, frame: FrameType | None) -> None:
            self.received = True

        try:
            old_handlers = {
                signal_number: signal.signal(signal_number, set_received)
                for signal_number in (signal.SIGINT, signal.SIGTERM)
            }
        except ValueError:  # only the main thread may handle signals
            old_handlers = {}
        try:
            yield
        finally:
            for number, handler in old_handlers.items():
                signal.signal(number, handler)
