"""Equal requests of several visitors share one run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.jobs.conftest import MakeIdleJobs, run_config
from transformer.jobs import JobError, info
from transformer.training.run_config import PairsRun, TrainingRun


def run_with_seed(seed: int, **fields: object) -> TrainingRun:
    config = run_config()
    return replace(config, training=replace(config.training, seed=seed), **fields)  # type: ignore[arg-type]


def test_thirty_equal_requests_share_one_run(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    visitors = [f"visitor {number}" for number in range(30)]
    with ThreadPoolExecutor(8) as pool:
        futures = [
            pool.submit(jobs.submit, run_config(title=visitor), visitor, reuse=True)
            for visitor in visitors
        ]
        names = {future.result() for future in futures}
    [shared_run] = jobs.runs()
    assert names == {shared_run.name}
    assert sorted(shared_run.holders) == sorted(visitors)
    assert shared_run.owner == shared_run.holders[0] == shared_run.title
    for visitor in visitors:
        assert [run.name for run in jobs.runs(visitor)] == [shared_run.name]


def test_any_setting_that_changes_results_makes_another_run(
    make_idle_jobs: MakeIdleJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, first = make_idle_jobs(queued=20, runs_per_visitor=20), run_with_seed(1)
    shared_name = jobs.submit(first, "ann", reuse=True)
    assert jobs.submit(run_with_seed(1, title="Another title"), "bob", reuse=True) == shared_name
    assert isinstance(first.model.d_ff, int)
    variants = [
        run_with_seed(2),
        replace(first, model=replace(first.model, d_ff=16)),
        replace(first, training=replace(first.training, steps=4)),
        run_config(steps=4),
        replace(first, probes=(("a b", "a b"),)),
    ]
    names = [jobs.submit(variant, "ann", reuse=True) for variant in variants]
    assert len({shared_name, *names}) == 1 + len(variants)
    on_pairs = PairsRun(pairs="pairs.tsv", model=first.model, training=first.training)
    assert jobs.submit(on_pairs, "ann", b"a\tb\n", reuse=True) != jobs.submit(
        on_pairs, "bob", b"a\tb\n", reuse=True
    )
    assert jobs.submit(first, "ann") != shared_name, "without reuse=True a second run is queued"
    monkeypatch.setattr(info, "fingerprint", lambda: "another version of the code")
    assert jobs.submit(first, "bob", reuse=True) != shared_name


@pytest.mark.parametrize("action", ["stop", "pause", "faster", "hidden"])
def test_a_run_changed_by_its_owner_is_not_shared(
    make_idle_jobs: MakeIdleJobs, action: str
) -> None:
    jobs = make_idle_jobs()
    name = jobs.submit(run_config(), "ann", reuse=True)
    if action == "hidden":
        jobs.share(name, "ann", False)
    elif action == "faster":
        jobs.control(name, "ann", learning_rate_factor=2.0)
        jobs.control(name, "ann", learning_rate_factor=1.0)
    else:
        jobs.control(name, "ann", command=action)
    assert jobs.submit(run_config(), "bob", reuse=True) != name


def test_a_holder_can_leave_but_not_change_a_shared_run(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    name = jobs.submit(run_config(), "ann", reuse=True)
    jobs.submit(run_config(), "bob", reuse=True)
    for visitor in ("ann", "bob"):
        for change in ({"command": "pause"}, {"command": "stop"}, {"learning_rate_factor": 2.0}):
            with pytest.raises(JobError, match="one other visitor has this run too"):
                jobs.control(name, visitor, **change)  # type: ignore[arg-type]
    jobs.control(name, "ann", save=True)
    jobs.delete(name, "ann")
    assert (jobs.run(name).holders, jobs.runs("ann")) == (("bob",), [])
    with pytest.raises(JobError, match="is not your run"):
        jobs.control(name, "ann", command="stop")
    jobs.submit(run_config(), "cay", reuse=True)
    jobs.control(name, "bob", command="stop", for_all=True)
    assert jobs.run(name).status == "cancelled"
    for visitor in ("cay", "bob"):
        jobs.delete(name, visitor)
    assert jobs.runs() == []


def test_a_shared_run_of_a_teacher_comes_first(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    jobs.submit(run_with_seed(1), "ann", reuse=True)
    name = jobs.submit(run_with_seed(2), "bob", reuse=True)
    assert jobs.run(name).queue_position == 2
    assert jobs.submit(run_with_seed(2), "teacher", first=True, reuse=True) == name
    assert jobs.run(name).queue_position == 1
    jobs.submit(run_with_seed(2), "cay", reuse=True)
    assert jobs.run(name).queue_position == 1
