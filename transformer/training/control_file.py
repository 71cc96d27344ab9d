"""What is asked of a run while it trains, by file or signal: pause, stop, save, another rate."""

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

from transformer.config import near

Command = Literal["run", "pause", "stop"]
LOOK_EVERY = 0.1  # seconds between two looks at the file
NAP = 0.05  # seconds, while the run is paused


@dataclass(frozen=True)
class Control:
    """The content of control.json.

    Attributes:
        command: "run", "pause" or "stop".
        learning_rate_factor: the schedule's learning rate is multiplied by it, 0 to 100.
        save: a counter; the run is saved when it has grown.
    """

    command: str = "run"
    learning_rate_factor: float = 1.0
    save: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Control:
        """What is missing has its default; names that there are not are left out. Raises ValueError
        for a value that is none."""
        command, factor = values.get("command", "run"), values.get("learning_rate_factor", 1.0)
        save = values.get("save", 0)
        if command not in get_args(Command):
            known = ", ".join(get_args(Command))
            hint = near(str(command), get_args(Command))
            raise ValueError(f"the command must be one of {known}, not {command!r}{hint}")
        if not isinstance(factor, int | float) or not 0 <= factor <= 100:  # no NaN either
            raise ValueError(f"learning_rate_factor must be from 0 to 100, not {factor!r}")
        if not isinstance(save, int) or save < 0:
            raise ValueError(f"save must be a count, 0 or more, not {save!r}")
        return cls(command, float(factor), save)


class ControlFile:
    """The control file as the trainer reads it: cheap enough to ask at every step.

    The file's time and size are looked at every 0.1 s at most, its content when they changed.
    """

    def __init__(self, path: Path, read: Callable[[], Control]) -> None:
        """`read` gives the content of the file at `path`."""
        self.path, self.read = path, read
        self._stamp: tuple[int, ...] = ()
        self._looked = -math.inf
        self._now = Control()
        self._saved = self.look(at_once=True).save

    def look(self, at_once: bool = False) -> Control:
        """What is asked for now."""
        now = time.monotonic()
        if at_once or now - self._looked >= LOOK_EVERY:
            self._looked = now
            stamp = self._stamp_of_file()
            if stamp != self._stamp:
                self._stamp, self._now = stamp, self.read()
        return self._now

    def wants_save(self) -> bool:
        """Once for each time that the counter has grown."""
        wanted = self._now.save > self._saved
        self._saved = self._now.save
        return wanted

    def _stamp_of_file(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


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
