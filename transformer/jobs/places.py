"""How many runs train at the same time: each takes one core, or several if its steps are large."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from transformer.config import shares_out
from transformer.jobs.folder import JobFolder
from transformer.jobs.limits import count_parameters
from transformer.run_config import TrainingRun
from transformer.training.run import RunError


@dataclass(frozen=True)
class Places:
    """What the workers of one machine have for their runs.

    Attributes:
        cores: of all of them together.
        threads: that a run of large steps takes; one of small steps takes one
            (`machine.fitting_threads`).
    """

    cores: float = math.inf
    threads: int = 1

    def has_room(self, following: JobFolder, running: Iterable[JobFolder]) -> bool:
        """Whether the next run of the line can begin beside those that train. If it cannot, nor
        does what stands behind it, however small, or a large one would never come."""
        taken = sum(self._needs(folder) for folder in running)
        return not taken or taken + self._needs(following) <= self.cores

    def _needs(self, folder: JobFolder) -> int:
        try:
            config = folder.config()
        except RunError:
            return 1
        if not isinstance(config, TrainingRun):
            return 1
        large = shares_out(count_parameters(config.model), config.training.batch_tokens)
        return self.threads if large else 1


ANY = Places()
"""For who gives out places otherwise."""


def member(house: str) -> str:
    """A new worker's token, of all the workers that share a machine for one app."""
    return f"{house}.{secrets.token_hex(4)}"


def of_one_house(worker: str, other: object) -> bool:
    """Whether two tokens are of workers that share a machine for one app."""
    return isinstance(other, str) and worker.partition(".")[0] == other.partition(".")[0]
