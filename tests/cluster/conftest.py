"""A scheduler and workers of Dask as processes on the loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.cluster import Machines
from transformer.jobs import services


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """A scheduler that runs, and no worker yet."""
    yield from _running(tmp_path)


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler and one worker, for tests that leave them as they were."""
    for made in _running(tmp_path_factory.mktemp("machines")):
        made.worker()
        yield made


def _running(folder: Path) -> Iterator[Machines]:
    made = Machines(folder)
    made.scheduler()
    yield made
    services.close_all()
    made.close()
