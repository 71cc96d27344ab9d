"""The latest result of each subject, which the page Findings shows for any corpus."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tests.jobs.fake_computations import LIMITS, fake_computation, wait_for_status
from transformer.jobs import Computation, ComputationService


def computation_about(root: Path, action: str, subject: str = "a finding") -> Computation:
    return replace(fake_computation(root, action), subject=subject)


def test_the_latest_result_of_a_subject_is_found_until_it_is_removed(tmp_path: Path) -> None:
    one, two = computation_about(tmp_path, "one"), computation_about(tmp_path, "two")
    before = time.time()
    with ComputationService(tmp_path, LIMITS) as service:
        assert service.latest() == {}
        for computation in (one, two, computation_about(tmp_path, "three", "")):
            wait_for_status(service, service.submit(computation, visitor="me"), "done")
    with ComputationService(tmp_path, LIMITS) as service:  # after a restart
        assert [*service.latest()] == ["a finding"]
        second = service.latest()["a finding"]
        assert second.key == two.key
        assert before <= second.measured_at <= time.time()
        (tmp_path / ".results" / two.key / "result.json").unlink()
        assert service.latest()["a finding"].key == one.key
