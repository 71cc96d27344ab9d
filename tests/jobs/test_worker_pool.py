"""Real worker processes: runs that are started, controlled, finished or killed, and the queue."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.jobs.conftest import (
    FAKE_TRAINER,
    MakeIdleJobs,
    MakeJobs,
    ready_workers,
    run_config,
    start_workers,
    wait_until,
)
from tests.jobs.fake_computations import TIMEOUT_SECONDS, wait_for
from transformer.jobs import Jobs, Limits


def starts(jobs: Jobs, name: str) -> list[int]:
    """Return the ids of the processes that started this run, in order."""
    path = jobs.folder(name).path / "starts.txt"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def steps(jobs: Jobs, name: str) -> list[int]:
    return [line["step"] for line in jobs.folder(name).metrics()]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """A queue with one warm worker, shared by the tests that do not stop it."""
    root = tmp_path_factory.mktemp("shared")
    with Jobs(root, Limits(workers=1, nice=0, runs_per_visitor=100), trainer=FAKE_TRAINER) as jobs:
        yield start_workers(jobs)


def test_a_run_trains_from_submission_to_the_end(jobs: Jobs) -> None:
    name = jobs.submit(run_config(title="Reverse, 4 heads", steps=7), "ann")
    info = wait_until(jobs, name, "finished")
    assert (info.title, info.owner, info.step, info.progress) == ("Reverse, 4 heads", "ann", 7, 1.0)
    assert name.startswith("reverse-4-heads-")
    assert steps(jobs, name) == [*range(1, 8)]
    assert "the fake trainer starts" in jobs.folder(name).log_path.read_text()
    assert len(starts(jobs, name)) == 1
    with pytest.raises(ValueError, match="is finished, so it cannot be resumed"):
        jobs.resume(name, "ann")
    with pytest.raises(ValueError, match="is finished; it cannot be controlled any more"):
        jobs.control(name, "ann", command="pause")


def test_a_paused_run_frees_its_worker_and_resumes(jobs: Jobs) -> None:
    first = jobs.submit(run_config(steps=60, step_seconds=0.02), "ann")
    second = jobs.submit(run_config(steps=2), "bob")
    assert jobs.run(second).queue_position in (1, 2)  # the first run may not have been claimed yet
    info = wait_until(jobs, first, lambda info: info.step >= 7)
    assert info.seconds_left is not None
    assert 0 < info.seconds_left < 60 * 0.02
    jobs.control(first, "ann", command="pause", learning_rate_factor=0.5)
    paused = wait_until(jobs, first, "paused")
    assert 7 <= paused.step < 60
    wait_until(jobs, second, "finished")
    assert jobs.run(first).status == "paused"
    jobs.resume(first, "ann")
    assert wait_until(jobs, first, "finished").step == 60
    # It continued from its save: no step is missing or repeated.
    assert steps(jobs, first) == [*range(1, 61)]
    assert len(starts(jobs, first)) == 2
    assert jobs.folder(first).control().learning_rate_factor == 0.5


def test_a_training_run_is_stopped_and_deleted(jobs: Jobs) -> None:
    stopped = jobs.submit(run_config(steps=1000, step_seconds=0.02), "ann")
    wait_until(jobs, stopped, lambda info: info.step >= 2)
    jobs.control(stopped, "ann", command="stop")
    assert wait_until(jobs, stopped, "cancelled").step < 1000
    deleted = jobs.submit(run_config(steps=1000, step_seconds=0.02), "ann")
    wait_until(jobs, deleted, lambda info: info.step >= 2)
    path = jobs.folder(deleted).path
    jobs.delete(deleted, "ann")
    assert deleted not in [info.name for info in jobs.runs()]  # before the worker has stopped
    last = jobs.submit(run_config(), "ann")
    wait_until(jobs, last, "finished")  # the worker is free again
    assert not path.exists()
    jobs.delete(stopped, "ann")
    assert not {stopped, deleted} & {p.name for p in path.parent.iterdir()}


def test_runs_continue_after_a_killed_worker_and_closing_ends_workers(
    make_jobs: MakeJobs,
) -> None:
    jobs = make_jobs(nice=3)
    name = jobs.submit(run_config(steps=40, step_seconds=0.03), "ann")
    waiting_run = jobs.submit(run_config(), "bob")
    wait_until(jobs, name, lambda info: info.step >= 7)
    os.kill(starts(jobs, name)[0], signal.SIGKILL)
    wait_until(jobs, name, "finished")
    wait_until(jobs, waiting_run, "finished")  # trained by a new worker
    assert steps(jobs, name) == [*range(1, 41)]
    killed_worker, new_worker = starts(jobs, name)
    assert killed_worker != new_worker
    assert starts(jobs, waiting_run) == [new_worker]
    unfinished = jobs.submit(run_config(steps=500, step_seconds=0.02), "ann")
    wait_until(jobs, unfinished, lambda info: info.step >= 2)
    worker = psutil.Process(new_worker)
    assert worker.nice() == psutil.Process().nice() + 3
    jobs.close()
    assert not worker.is_running()
    state = json.loads((jobs.folder(unfinished).path / "state.json").read_text())
    assert (state["status"], state["step"]) == ("queued", steps(jobs, unfinished)[-1])


def test_errors_are_reported_and_the_queue_continues(jobs: Jobs) -> None:
    reasons = {
        "memory": "out of memory at step 2: start a run with a smaller model",
        "disk": "could not be written (No space left on device) at step 2; Resume starts again at "
        "step 0, since nothing was saved",
        "text": "the text has no pairs",
    }
    failing_runs = {
        failure: jobs.submit(run_config(failure=failure, steps=9), "ann") for failure in reasons
    }
    valid_run = jobs.submit(run_config(), "ann")
    wait_until(jobs, valid_run, "finished")
    for failure, reason in reasons.items():
        assert reason in wait_until(jobs, failing_runs[failure], "failed").reason
    # The traceback is stored in the log.
    assert "line" in jobs.folder(failing_runs["text"]).log_path.read_text()


APP = """
import sys, time
from tests.jobs.conftest import run_config
from transformer.jobs import Jobs, Limits
jobs = Jobs(sys.argv[1], Limits(workers=1, nice=0), trainer="tests.jobs.fake_trainer:train")
print(jobs.submit(run_config(steps=40, step_seconds=0.03), "ann"), flush=True)
time.sleep(600)
"""


@contextmanager
def running_app(root: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start another app on this folder; yield its process and the name of the run it trains."""
    process = subprocess.Popen(
        [sys.executable, "-c", APP, str(root)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout
    try:
        yield process, process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.communicate()


def test_runs_survive_a_killed_app(
    make_jobs: MakeJobs, make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    """Its worker saves and ends; the run is queued before all later ones, and continues."""
    with running_app(tmp_path / "runs") as (process, run_name):
        jobs = make_idle_jobs()
        wait_until(jobs, run_name, lambda info: info.step >= 3)
        waiting_run = jobs.submit(run_config(), "bob")
        worker = psutil.Process(starts(jobs, run_name)[0])
        process.kill()
        worker.wait(TIMEOUT_SECONDS)
    info = jobs.run(run_name)
    assert (info.status, info.queue_position) == ("queued", 1)
    assert info.reason == (
        f"interrupted at step {info.step}; continues from the save at step {info.step} when a "
        "worker is free"
    )
    assert jobs.run(waiting_run).queue_position == 2
    restarted = make_jobs()
    restarted.start()
    for name, count in ((run_name, 40), (waiting_run, 3)):
        wait_until(restarted, name, "finished")
        assert steps(restarted, name) == [*range(1, count + 1)]
    assert len(starts(restarted, run_name)) == 2


def test_runs_survive_a_killed_app_and_worker(make_idle_jobs: MakeIdleJobs, tmp_path: Path) -> None:
    """As after a power cut: no final state was written, but the run continues by itself."""
    with running_app(tmp_path / "runs") as (process, name):
        jobs = make_idle_jobs()
        wait_until(jobs, name, lambda info: info.step >= 6)
        worker = psutil.Process(starts(jobs, name)[0])
        worker.suspend()
        process.kill()
        process.wait()
        assert jobs.run(name).status == "running"  # the run's lock is still held
        worker.kill()
        worker.wait(TIMEOUT_SECONDS)
    restarted = make_idle_jobs()
    info = restarted.run(name)
    assert (info.status, info.queue_position) == ("queued", 1)
    folder = restarted.folder(name)
    assert folder.saved_step() >= 5
    assert info.reason == (
        f"interrupted at step {folder.last_step()}; continues from the save at step "
        f"{folder.saved_step()} when a worker is free"
    )


def test_a_run_that_takes_the_machine_down_three_times_fails(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    name = jobs.submit(run_config(), "ann")

    def lose_worker() -> str:
        claim = jobs.queue.claim_next("a worker of a killed app")
        assert claim
        claim.lock.close()
        return jobs.run(name).status

    assert [lose_worker() for _ in range(3)] == ["queued", "queued", "failed"]
    assert "its worker was lost 3 times at step 0; Resume" in jobs.run(name).reason
    jobs.resume(name, "ann")
    assert lose_worker() == "queued"


def test_the_end_of_a_run_is_stored_as_soon_as_that_is_possible(make_jobs: MakeJobs) -> None:
    """A folder in place of state.json cannot be replaced. The worker tries until the final state is
    written, and reports the problem meanwhile; otherwise the run would seem to train."""
    jobs = start_workers(make_jobs())
    name = jobs.submit(run_config(steps=1000, step_seconds=0.02), "ann")
    wait_until(jobs, name, lambda info: info.step >= 2)
    state = jobs.folder(name).path / "state.json"
    state.unlink()
    (state / "in the way").mkdir(parents=True)
    wait_for(lambda: "the end of a job cannot be stored" in jobs.startup_error())
    assert jobs.folder(name).is_held
    shutil.rmtree(state)
    info = wait_until(jobs, name, lambda info: "could not be written" in info.reason)
    assert info.status == "failed"
    wait_for(lambda: jobs.startup_error() == "")


def test_thirty_simultaneous_requests_in_two_apps_are_all_trained(make_jobs: MakeJobs) -> None:
    """With two servers and three workers on one folder, each run is trained once, by its config."""
    apps = [make_jobs(workers=2), make_jobs(workers=1)]
    names: dict[int, str] = {}
    barrier = threading.Barrier(30)

    def submit(n: int) -> None:
        barrier.wait()
        names[n] = apps[n % 2].submit(
            run_config(title=f"visitor {n}", steps=n % 3 + 1),
            f"visitor-{n}",
        )

    with ThreadPoolExecutor(30) as pool:
        assert len([*pool.map(submit, range(30))]) == 30
    assert len(set(names.values())) == 30
    positions = sorted(info.queue_position for info in apps[0].runs() if info.queue_position)
    assert positions == [*range(1, len(positions) + 1)]
    for n, name in names.items():
        info = wait_until(apps[n % 2], name, "finished")
        assert (info.owner, info.title) == (f"visitor-{n}", f"visitor {n}")
        assert steps(apps[1], name) == [*range(1, n % 3 + 2)]
        assert len(starts(apps[0], name)) == 1
    assert {info.turn for info in apps[0].runs()} == {*range(1, 31)}


@pytest.mark.skipif(Limits().processes < 2, reason="this machine trains one run at a time")
def test_a_second_worker_starts_for_a_waiting_run(make_jobs: MakeJobs) -> None:
    jobs = start_workers(make_jobs(workers=0))
    first = jobs.submit(run_config(steps=4000, step_seconds=0.01), "ann")
    wait_until(jobs, first, lambda info: info.step > 0)
    assert ready_workers(jobs) == 1
    second = jobs.submit(run_config(steps=3), "bob")
    wait_until(jobs, second, "finished")
    assert jobs.run(first).status == "running"
    assert ready_workers(jobs) == 2
    jobs.control(first, "ann", command="stop")
    wait_until(jobs, first, "cancelled")
