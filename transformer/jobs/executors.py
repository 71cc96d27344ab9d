"""The seams for a cluster: who trains the runs of a queue, and who computes for a lane."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol, runtime_checkable

from transformer.jobs.computation import Computation


class RunExecutor(Protocol):
    """Whatever takes runs from the queue: processes here, or machines elsewhere."""

    def start(self) -> None:
        """Begin to take runs; calling it again does nothing."""

    def wake(self) -> None:
        """A run has come: look now."""

    def warm(self) -> int:
        """How many workers are ready to train."""

    def watched(self) -> Collection[str]:
        """The workers whose end will be reported."""

    def startup_error(self) -> str:
        """Why no worker starts, or nothing."""

    def close(self) -> None:
        """End; what was training waits in line again."""


@runtime_checkable
class LaneExecutor(Protocol):
    """Whatever computes for one lane: a process here, or a machine that sees the same folders.

    One computation at a time: `begin`, then `wait`; `kill` may come from any thread meanwhile.
    """

    def begin(self, folder: Path, what: Computation) -> None:
        """Compute what the folder's ask.json says and leave its files there. Raises OSError."""

    def wait(self) -> int:
        """Until it has ended: 0, or how it failed (`results.py`, else the process's own code)."""

    def kill(self) -> None:
        """End it now."""

    def close(self) -> None:
        """Give back what it keeps for the next one."""
