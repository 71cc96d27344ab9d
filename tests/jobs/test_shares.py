"""Fair-share quotas: by visitor and by address."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.jobs.conftest import IdleExecutor, MakeIdleJobs, run_config
from transformer.jobs import Computation, ComputationService, JobError
from transformer.jobs.computation import CAPACITY, KIND, MAX_PER_VISITOR


def test_new_cookies_from_one_address_get_at_most_half_of_the_queue(
    make_idle_jobs: MakeIdleJobs,
) -> None:
    jobs = make_idle_jobs(queued=6)
    for number in range(3):
        jobs.submit(run_config(), f"cookie {number}", address="A")
    with pytest.raises(JobError, match="3 runs from your address are waiting"):
        jobs.submit(run_config(), "cookie 3", address="A")
    # Another address waits for only one run of the first.
    assert jobs.run(jobs.submit(run_config(), "visitor", address="B")).queue_position == 2


def test_stored_runs_per_address_and_disk_space_are_limited(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs(runs_per_address=2)
    for number in range(2):
        jobs.submit(run_config(), f"cookie {number}", address="A")
    with pytest.raises(JobError, match="2 runs are stored from your address and this app allows 2"):
        jobs.submit(run_config(), "cookie 2", address="A")
    jobs.submit(run_config(), "cookie 2", address="B")
    with_full_disk = make_idle_jobs(disk_free=10**18)
    with pytest.raises(JobError, match="GB free, and 1000000000"):
        with_full_disk.submit(run_config(), "ann")


@pytest.fixture
def service(tmp_path: Path) -> ComputationService:
    """Computations that no process executes."""
    return ComputationService(tmp_path, executor=lambda queue: IdleExecutor())


def submit(service: ComputationService, name: str, visitor: str, address: str = "") -> str:
    """Request a computation; the first one starts at once."""
    computation = Computation(name, {})
    key = service.submit(computation, visitor=visitor, address=address)
    queue = service.queue
    if not any(entry.status == "running" for entry in queue.entries()):
        claim = queue.claim_next("worker")
        assert claim
        claim.lock.close()
    return key


def test_one_visitor_cannot_fill_the_queue(tmp_path: Path, service: ComputationService) -> None:
    keys = [submit(service, f"a{number}", "ann") for number in range(MAX_PER_VISITOR)]
    with pytest.raises(JobError, match=f"you have {MAX_PER_VISITOR} measurements in progress"):
        submit(service, "more", "ann")
    service.cancel(keys[-1], "ann")
    submit(service, "more", "ann")
    service = ComputationService(tmp_path / "other", executor=lambda queue: IdleExecutor())
    for number in range(CAPACITY // 2):
        submit(service, f"a{number}", f"cookie {number}", "A")
    with pytest.raises(JobError, match=f"{CAPACITY // 2} measurements from your address"):
        submit(service, "more", "another cookie", "A")
    for number in range(CAPACITY // 2):
        submit(service, f"b{number}", f"visitor {number}")
    with pytest.raises(JobError, match=f"{CAPACITY} measurements are in progress"):
        submit(service, "more", "of unknown origin")


def test_abandoned_requests_are_dropped_first(service: ComputationService, tmp_path: Path) -> None:
    running, waiting, polled = (submit(service, name, name) for name in ("r", "w", "p"))
    long_ago = time.time() - KIND.abandoned_after - 1
    for key in (running, waiting):
        os.utime(tmp_path / ".results" / key / "job.json", (long_ago, long_ago))
    submit(service, "new", "new")
    statuses = [service.status(key).status for key in (running, waiting, polled)]
    assert statuses == ["running", "absent", "waiting"]  # its worker ends the running one


def test_a_run_does_not_contain_its_owners_address(
    make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    jobs = make_idle_jobs()
    name = jobs.submit(run_config(), "ann", address="192.0.2.7")
    assert jobs.run(name).address == "192.0.2.7"
    assert "address" not in jobs.folder(name).config().to_dict()
