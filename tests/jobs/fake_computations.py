"""Fake computations for a computation service, and functions that wait for their results."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer.analysis.corpora import Corpus
from transformer.jobs import Computation, ComputationService, ComputationStatus, Limits

FUNCTION = "tests.jobs.fake_trainer:compute"
TIMEOUT_SECONDS = 180.0  # for a busy machine; usually the wait is short
CORPUS = Corpus.from_lines(["one", "two"], "mine")
LIMITS = Limits(nice=3)
SubmitAction = Callable[..., str]


def fake_computation(root: Path, action: str, **arguments: object) -> Computation:
    return Computation(FUNCTION, {"action": action, "root": str(root), **arguments})


def submit(
    service: ComputationService,
    root: Path,
    action: str,
    visitor: str = "me",
    **arguments: object,
) -> str:
    return service.submit(fake_computation(root, action, **arguments), visitor=visitor)


def wait_for(condition: Callable[[], Any], describe: Callable[[], object] = str) -> Any:
    """Wait until the condition is true and return its value; fail with the description if it
    never is."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, describe()
        time.sleep(0.01)
    return value


def wait_for_status(service: ComputationService, key: str, status: str) -> ComputationStatus:
    def status_if_reached() -> ComputationStatus | None:
        return current if (current := service.status(key)).status == status else None

    return wait_for(status_if_reached, lambda: service.status(key))


def wait_until_half_done(service: ComputationService, key: str) -> None:
    wait_for(lambda: service.status(key, "me").progress >= 0.5)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".results").glob("[a-z]*"))
