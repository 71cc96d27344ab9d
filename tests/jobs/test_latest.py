"""The latest result on a subject: its reference is stored when a computation ends, and deleted
with the result."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tests.jobs.fake_computations import LIMITS, fake_computation, wait_for, wait_for_status
from transformer.jobs import Computation, ComputationService
from transformer.jobs.computation import LATEST_FOLDER, RESULTS_FOLDER
from transformer.jobs.folder import JobFolder


def computation_about(root: Path, action: str, subject: str = "a finding") -> Computation:
    return replace(fake_computation(root, action), subject=subject)


def test_the_latest_result_survives_a_restart(tmp_path: Path) -> None:
    before = time.time()
    with ComputationService(tmp_path, LIMITS) as service:
        assert service.latest("a finding") is None
        for computation in (computation_about(tmp_path, "one"), computation_about(tmp_path, "two")):
            wait_for_status(service, service.submit(computation, visitor="me"), "done")
        wait_for_status(
            service,
            service.submit(computation_about(tmp_path, "three", ""), visitor="me"),
            "done",
        )
    with ComputationService(tmp_path, LIMITS) as service:
        latest = service.latest("a finding")
        assert latest is not None
        assert latest.key == computation_about(tmp_path, "two").key
        assert latest.result == service.result(latest.key)
        assert before <= latest.measured_at <= time.time()
        assert service.latest("another") is None
        assert service.latest("") is None
    assert len([*(tmp_path / LATEST_FOLDER).iterdir()]) == 1


def test_a_repeated_computation_has_a_new_time(tmp_path: Path) -> None:
    with ComputationService(tmp_path, LIMITS) as service:
        times = []
        for force in (False, True):
            key = service.submit(computation_about(tmp_path, "one"), visitor="me", force=force)
            wait_for_status(service, key, "done")
            latest = service.latest("a finding")
            assert latest is not None
            times.append(latest.measured_at)
            folder = JobFolder(tmp_path / RESULTS_FOLDER / key)
            wait_for(lambda folder=folder: folder.status() == "finished")  # after its result
    assert times[0] < times[1]


def test_a_deleted_result_deletes_its_reference(tmp_path: Path) -> None:
    with ComputationService(tmp_path, LIMITS) as service:
        key = service.submit(computation_about(tmp_path, "one"), visitor="me")
        wait_for_status(service, key, "done")
        (result,) = tmp_path.glob(f".results/{key}/result.json")
        result.unlink()
        assert service.latest("a finding") is None
    ComputationService(tmp_path, LIMITS).close()
    assert not [*(tmp_path / LATEST_FOLDER).iterdir()]
