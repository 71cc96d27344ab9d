"""Fixtures and helpers for queues of runs, which a fake trainer trains in real worker processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import fake_computations
from tests.jobs.fake_computations import SubmitAction, wait_for
from transformer.config import ModelConfig, TrainingConfig
from transformer.jobs import ComputationService, Jobs, Limits, RunInfo
from transformer.jobs.worker_pool import WorkerPool
from transformer.training.run_config import TaskRun

FAKE_TRAINER = "tests.jobs.fake_trainer:train"
MakeJobs = Callable[..., Jobs]
MakeIdleJobs = Callable[..., Jobs]


def run_config(
    steps: int = 3, step_seconds: float = 0.0, failure: str = "", title: str = "", **fields: Any
) -> TaskRun:
    """Return a run within all limits; `steps`, `step_seconds` and `failure` are options of the fake
    trainer."""
    return TaskRun(
        task=failure or "copy",
        options={"steps": steps, "step_milliseconds": round(1000 * step_seconds)},
        model=ModelConfig(vocab_size=20, d_model=8, n_layers=1, n_heads=2, d_ff=8),
        training=TrainingConfig(steps=3),
        title=title,
        **fields,
    )


def wait_until(jobs: Jobs, name: str, condition: Callable[[RunInfo], bool] | str) -> RunInfo:
    """Wait until the condition is true for the run, or it has this status; return the run."""

    def run_if_reached() -> RunInfo | None:
        info = jobs.run(name)
        matches = info.status == condition if isinstance(condition, str) else condition(info)
        return info if matches else None

    return wait_for(run_if_reached, lambda: f"the last state: {jobs.run(name)}")


def ready_workers(jobs: Jobs) -> int:
    """Return the number of processes that have imported what they need, or slots of a cluster."""
    executor: Any = jobs.executor
    return len(executor._warm) if isinstance(executor, WorkerPool) else executor._n_slots


def start_workers(jobs: Jobs, count: int = 1) -> Jobs:
    """Start the workers and wait until this many are ready."""
    jobs.start()
    wait_for(lambda: ready_workers(jobs) >= count, jobs.startup_error)
    return jobs


@pytest.fixture
def make_jobs(tmp_path: Path) -> Iterator[MakeJobs]:
    """`make_jobs(queued=3)` returns a queue in the folder of the test with these limits; all queues
    are closed at the end of the test."""
    opened: list[Jobs] = []

    def make(trainer: str = FAKE_TRAINER, folder: str = "runs", **limits: Any) -> Jobs:
        all_limits = Limits(**({"workers": 1, "nice": 0} | limits))
        opened.append(Jobs(tmp_path / folder, all_limits, trainer=trainer))
        return opened[-1]

    yield make
    for jobs in opened:
        jobs.close()


class IdleExecutor:
    """An executor that never claims a run, to test the queue alone."""

    def start(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def startup_error(self) -> str:
        return ""

    def close(self) -> None:
        pass


def idle_jobs(root: Path, shipped: Path | None = None, **limits: Any) -> Jobs:
    """Return a queue in this folder whose runs never start."""
    return Jobs(root, Limits(**limits), executor=lambda queue: IdleExecutor(), shipped=shipped)


@pytest.fixture
def make_idle_jobs(tmp_path: Path) -> MakeIdleJobs:
    """`make_idle_jobs(queued=3)` returns a queue in the folder of the test with these limits, whose
    runs never start."""
    return functools.partial(idle_jobs, tmp_path / "runs")


def queue_positions(jobs: Jobs) -> dict[str, int | None]:
    return {info.title: info.queue_position for info in jobs.runs()}


def submit_run(jobs: Jobs, title: str, owner: str) -> str:
    return jobs.submit(run_config(title=title), owner)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ComputationService]:
    with ComputationService(tmp_path, fake_computations.LIMITS) as service:
        yield service


@pytest.fixture
def submit_action(service: ComputationService, tmp_path: Path) -> SubmitAction:
    return functools.partial(fake_computations.submit, service, tmp_path)
