"""Measurements on a cluster give the same results and errors as on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.dask_cluster import DaskCluster
from tests.jobs.fake_computations import (
    CORPUS,
    TIMEOUT_SECONDS,
    submit,
    wait_for_status,
    wait_until_half_done,
)
from transformer.checkpoint import checkpoint_hash
from transformer.cluster import cluster_executor
from transformer.cluster.executor import ClusterExecutor
from transformer.jobs import ComputationService, Limits
from transformer.jobs.computation import report_computation


@pytest.fixture
def service(shared_cluster: DaskCluster, tmp_path: Path) -> Iterator[ComputationService]:
    with service_on_cluster(shared_cluster, tmp_path) as service:
        yield service


@contextmanager
def service_on_cluster(cluster: DaskCluster, folder: Path) -> Iterator[ComputationService]:
    limits = Limits(executor="dask", scheduler=cluster.address, nice=0)
    with ComputationService(folder / "runs", limits, executor=cluster_executor(limits)) as service:
        cluster.wait(lambda: _workers(service) == 1)
        yield service


@pytest.mark.slow
def test_reports_equal_local_ones(
    shared_cluster: DaskCluster, service: ComputationService, checkpoints: Path, tmp_path: Path
) -> None:
    folder = checkpoints / "tiny"
    computation = report_computation(folder, checkpoint_hash(folder), "heads", CORPUS)
    key = service.submit(computation, visitor="ann")
    wait_for_status(service, key, "done")
    with ComputationService(tmp_path / "local") as local_service:
        wait_for_status(local_service, local_service.submit(computation, visitor="ann"), "done")
        assert service.result(key) == local_service.result(computation.key)


def test_progress_is_received_and_cancelling_is_sent(
    service: ComputationService, tmp_path: Path
) -> None:
    key = submit(service, tmp_path, "long", visitor="ann")
    wait_until_half_done(service, key)
    start = time.monotonic()
    service.cancel(key, "ann")
    wait_for_status(service, key, "absent")
    failing_key = submit(service, tmp_path, "fails", visitor="ann")
    assert wait_for_status(service, failing_key, "failed").reason == "no such measure"
    assert time.monotonic() < start + TIMEOUT_SECONDS / 2  # it did not wait for the 600 seconds


@pytest.mark.slow
def test_losing_the_last_worker_is_reported(cluster: DaskCluster, tmp_path: Path) -> None:
    killed_worker = cluster.start_worker()
    with service_on_cluster(cluster, tmp_path) as service:
        key = submit(service, tmp_path, "long", visitor="ann")
        wait_until_half_done(service, key)
        killed_worker.kill()
        reason = wait_for_status(service, key, "failed").reason
        # No worker is left, or the last one was asked for a report while it was killed.
        assert "--resources" in reason or "does not answer" in reason
        assert reason.endswith("try again")
        service.cancel(key, "ann")
        cluster.start_worker()
        cluster.wait(lambda: _workers(service) == 1)
        wait_for_status(service, submit(service, tmp_path, "quick", visitor="ann"), "done")


def _workers(service: ComputationService) -> int:
    """Return the number of workers that the scheduler knows."""
    executor = service.executor
    assert isinstance(executor, ClusterExecutor)
    executor.start()
    return executor._n_slots
