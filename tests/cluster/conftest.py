"""A Dask scheduler and workers as processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.dask_cluster import DaskCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A running scheduler without workers."""
    yield from running_scheduler(tmp_path)


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler and one worker, for tests that do not change them."""
    for cluster in running_scheduler(tmp_path_factory.mktemp("cluster")):
        cluster.start_worker()
        yield cluster


def running_scheduler(folder: Path) -> Iterator[DaskCluster]:
    cluster = DaskCluster(folder)
    cluster.start_scheduler()
    yield cluster
    cluster.close()
