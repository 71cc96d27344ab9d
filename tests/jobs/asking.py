"""Helpers that request computations and wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer.analysis.corpora import Corpus
from transformer.jobs import Computation, ComputationService, ComputationStatus, Limits
from transformer.jobs.computation import LANES

FUNCTION = "tests.jobs.standin:compute"
PATIENCE = 180.0  # seconds, for a machine whose host gives it little; what is there is seen at once
CORPUS = Corpus.of_lines(["one", "two"], "mine")
MAX_PER_VISITOR = LANES["corpus"].max_per_visitor
LIMITS = Limits(nice=3)
Ask = Callable[..., str]


def question(root: Path, action: str, lane: str = "corpus", **more: object) -> Computation:
    return Computation(FUNCTION, {"what": action, "root": str(root), **more}, lane)


def wait_for(true: Callable[[], Any], describe: Callable[[], object] = str) -> Any:
    """What it is once it is true; fails with what is `said` where it never is."""
    deadline = time.monotonic() + PATIENCE
    while not (value := true()):
        assert time.monotonic() < deadline, describe()
        time.sleep(0.01)
    return value


def until(computing: ComputationService, key: str, status: str) -> ComputationStatus:
    def so() -> ComputationStatus | None:
        return current if (current := computing.status(key)).status == status else None

    return wait_for(so, lambda: computing.status(key))


def half_way(computing: ComputationService, key: str) -> None:
    wait_for(lambda: computing.status(key).progress >= 0.5)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".results").iterdir())
