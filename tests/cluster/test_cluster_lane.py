"""Measurements on a cluster: the same numbers and errors as on this machine."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.cluster import DaskCluster
from tests.jobs.requests import (
    CORPUS,
    TIMEOUT_SECONDS,
    fake_computation,
    wait_for_status,
    wait_until_half_done,
)
from transformer.checkpoint import checkpoint_hash
from transformer.cluster import for_lanes
from transformer.cluster.connection import Connection
from transformer.cluster.lane import ClusterLane
from transformer.jobs import ComputationService, Limits
from transformer.jobs.computation import LANES, dataset_computation, report_computation
from transformer.jobs.processes import LaneProcess


@pytest.fixture
def computing(shared_machines: DaskCluster, tmp_path: Path) -> Iterator[ComputationService]:
    with _computing(shared_machines, tmp_path) as service:
        yield service


@contextmanager
def _computing(machines: DaskCluster, folder: Path) -> Iterator[ComputationService]:
    limits = Limits(executor="dask", scheduler=machines.address, nice=0)
    with ComputationService(folder / "runs", limits, executor=for_lanes) as service:
        machines.wait(lambda: _workers(service) == 1)
        yield service


@pytest.mark.slow
def test_reports_and_datasets_equal_local_ones(
    shared_machines: DaskCluster, computing: ComputationService, checkpoints: Path, tmp_path: Path
) -> None:
    folder = checkpoints / "tiny"
    computation = report_computation(folder, checkpoint_hash(folder), "heads", CORPUS)
    dataset = dataset_computation(folder, checkpoint_hash(folder), CORPUS)
    key = computing.submit(computation, visitor="ann")
    wait_for_status(computing, key, "done")
    with ComputationService(tmp_path / "here") as local_service:
        wait_for_status(local_service, local_service.submit(computation, visitor="ann"), "done")
        assert computing.result(key) == local_service.result(computation.key)
    wait_for_status(computing, computing.submit(dataset, visitor="ann"), "done")
    with zipfile.ZipFile(computing.file(dataset)) as packed:
        assert packed.testzip() is None
        assert "translations.parquet" in packed.namelist()
    scratch = shared_machines.folder / "scratch"
    leftovers = [
        *scratch.glob("*/*/heads-up/checkpoints/*"),
        *scratch.glob("*/heads-up/checkpoints/*"),
    ]
    assert [path.name for path in leftovers] == [checkpoint_hash(folder)]  # sent once


def test_progress_is_received_and_cancelling_is_sent(
    computing: ComputationService, tmp_path: Path
) -> None:
    key = computing.submit(fake_computation(tmp_path, "long"), visitor="ann")
    wait_until_half_done(computing, key)
    began = time.monotonic()
    computing.cancel(key, "ann")
    wait_for_status(computing, key, "absent")
    failing_key = computing.submit(fake_computation(tmp_path, "fails"), visitor="ann")
    assert wait_for_status(computing, failing_key, "failed").reason == "no such ruler"
    assert time.monotonic() < began + TIMEOUT_SECONDS / 2  # it did not wait for the 600 seconds


def test_losing_the_last_machine_is_the_reason(machines: DaskCluster, tmp_path: Path) -> None:
    killed_worker = machines.start_worker()
    with _computing(machines, tmp_path) as computing:
        key = computing.submit(fake_computation(tmp_path, "long"), visitor="ann")
        wait_until_half_done(computing, key)
        killed_worker.kill()
        reason = wait_for_status(computing, key, "failed").reason
        assert "--resources" in reason  # no worker is left
        assert reason.endswith("try again")
        machines.start_worker()
        machines.wait(lambda: _workers(computing) == 1)
        wait_for_status(
            computing, computing.submit(fake_computation(tmp_path, "quick"), visitor="ann"), "done"
        )


def test_measurements_of_this_machine_stay_local() -> None:
    limits = Limits(executor="dask", scheduler="tcp://127.0.0.1:1")
    kinds = {name: type(for_lanes(lane, limits)) for name, lane in LANES.items()}
    assert kinds == {
        "corpus": ClusterLane,
        "dataset": ClusterLane,
        "timing": LaneProcess,
        "step": LaneProcess,
    }


def _workers(computing: ComputationService) -> int:
    """Return the number of workers that the scheduler knows."""
    lane = computing._lanes["corpus"]._executor
    assert isinstance(lane, ClusterLane)
    connection: Connection = lane._connection
    return len(connection.submit(connection.workers()).result(TIMEOUT_SECONDS))
