"""The number of concurrent runs depends on their size and on the machine's cores and memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.jobs.conftest import idle_jobs, run_config
from transformer.config import ModelConfig, TrainingConfig
from transformer.jobs import Limits, limits
from transformer.jobs.queue import Claim, Queue, WorkerCapacity, new_worker_id
from transformer.run_config import TrainingRun
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config

TWO_CORES = WorkerCapacity(cores=2, threads=2)
WORKER_ID = new_worker_id("app")


def large_run(title: str) -> TrainingRun:
    """Return a run with 1.3 × 10⁹ weights × positions per step, which benefits from a second
    thread."""
    model = ModelConfig(vocab_size=1000, d_model=128, n_layers=1, n_heads=2, d_ff=128)
    return replace(run_config(title=title), model=model, training=TrainingConfig(batch_tokens=4096))


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return idle_jobs(tmp_path)._queue


def queue_runs(queue: Queue, *configs: TrainingRun) -> None:
    """Queue runs of different owners in this order."""
    jobs = idle_jobs(queue.root, disk_free=1)
    for number, config in enumerate(configs):
        jobs.submit(config, f"visitor {number}")


def claim_next(
    queue: Queue, worker: str = WORKER_ID, capacity: WorkerCapacity = TWO_CORES
) -> Claim | None:
    return queue.claim_next(worker, capacity)


def title(claim: Claim | None) -> str:
    assert claim
    return str(claim.folder.config().title)


def end_run(queue: Queue, claim: Claim | None) -> None:
    assert claim
    queue.release(claim, ValueError("ended by the test"))


def test_two_cores_train_two_small_runs_and_a_third_waits(queue: Queue) -> None:
    queue_runs(queue, run_config(title="a"), run_config(title="b"), run_config(title="c"))
    first, second = claim_next(queue), claim_next(queue)
    assert [title(first), title(second)] == ["a", "b"]
    assert claim_next(queue) is None
    end_run(queue, first)
    third = claim_next(queue)
    assert title(third) == "c"
    for claim in (second, third):
        end_run(queue, claim)


def test_a_large_run_gets_both_cores_and_keeps_its_position(queue: Queue) -> None:
    queue_runs(queue, run_config(title="small"), large_run("large"), run_config(title="late"))
    small = claim_next(queue)
    assert title(small) == "small"
    assert claim_next(queue) is None  # neither the large run nor the one after it
    end_run(queue, small)
    large = claim_next(queue)
    assert title(large) == "large"
    assert claim_next(queue) is None
    end_run(queue, large)
    late = claim_next(queue)
    assert title(late) == "late"
    end_run(queue, late)


def test_runs_of_another_app_take_no_cores(queue: Queue) -> None:
    queue_runs(queue, run_config(title="a"), large_run("b"), run_config(title="c"))
    run_of_other_app = claim_next(queue, new_worker_id("another app"))
    claimed_run = claim_next(queue)
    assert [title(run_of_other_app), title(claimed_run)] == ["a", "b"]
    third = queue.claim_next("a machine of a cluster")
    assert title(third) == "c"
    for claim in (run_of_other_app, claimed_run, third):
        end_run(queue, claim)


def test_a_run_larger_than_the_machine_starts_alone(queue: Queue) -> None:
    queue_runs(queue, large_run("a"))
    claim = claim_next(queue, capacity=WorkerCapacity(cores=1, threads=2))
    assert title(claim) == "a"
    end_run(queue, claim)


@pytest.mark.parametrize(
    ("cores", "memory", "workers", "processes", "threads"),
    [
        (1, 8e9, 0, 1, 1),
        (2, 8e9, 0, 2, 2),
        (2, 3e9, 0, 1, 2),
        (3, 8e9, 0, 2, 2),
        (4, 8e9, 0, 2, 2),
        (4, 3e9, 0, 2, 2),
        (8, 8e9, 0, 4, 2),
        (2, 8e9, 1, 1, 2),  # set by the operator
        (2, 8e9, 2, 2, 1),
        (2, 8e9, 4, 4, 1),
    ],
)
def test_the_number_of_runs_and_threads_follows_cores_and_memory(
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    memory: float,
    workers: int,
    processes: int,
    threads: int,
) -> None:
    monkeypatch.setattr(limits, "cores", lambda: cores)
    monkeypatch.setattr(limits, "machine_memory", lambda: memory)
    defaults = Limits(workers=workers)
    assert (defaults.processes, defaults.threads) == (processes, threads)


@pytest.mark.parametrize("task", TASKS)
def test_every_default_run_takes_one_core(queue: Queue, task: str) -> None:
    config = replace(make_run_config(task), title="a")
    queue_runs(queue, config, replace(config, title="b"))
    claimed = claim_next(queue), claim_next(queue)
    assert [title(run) for run in claimed] == ["a", "b"]
    for claim in claimed:
        end_run(queue, claim)
