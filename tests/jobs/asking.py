"""Asking for computations and waiting for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from transformer.analysis.corpora import Corpus
from transformer.jobs import Computation, Computing, Limits, Standing
from transformer.jobs.computation import LANES
from transformer.jobs.results import ended

FUNCTION = "tests.jobs.standin:compute"
PATIENCE = 180.0  # seconds, for a machine whose host gives it little; what is there is seen at once
CORPUS = Corpus.of_lines(["one", "two"], "mine")
MOST = LANES["corpus"].of_a_visitor
LIMITS = Limits(nice=3)
Ask = Callable[..., str]


def question(root: Path, what: str, lane: str = "corpus", **more: object) -> Computation:
    return Computation(FUNCTION, {"what": what, "root": str(root), **more}, lane)


def until(computing: Computing, key: str, status: str) -> Standing:
    deadline = time.monotonic() + PATIENCE
    while (found := computing.look(key)).status != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def half_way(computing: Computing, key: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while computing.look(key).progress < 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_ended(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ended(folder):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".results").iterdir())
