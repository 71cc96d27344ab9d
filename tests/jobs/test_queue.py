"""The queue without workers: positions, owners, names, and disk errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.conftest import MakeIdleJobs, queue_positions, run_config, submit_run
from tests.jobs.fake_trainer import save
from transformer.jobs import JobError
from transformer.jobs.info import RunInfo, with_queue_positions
from transformer.jobs.queue import queue_order
from transformer.training.run_folder import RunFolder


def test_everyones_first_run_comes_before_anyones_second(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    for title in ("a1", "a2", "a3", "b1", "c1", "b2"):
        submit_run(jobs, title, title[0])
    assert queue_positions(jobs) == {"a1": 1, "b1": 2, "c1": 3, "a2": 4, "b2": 5, "a3": 6}
    queue = jobs.queue
    order = []
    claims_by_title = {}
    while claim := queue.claim_next("worker"):
        title = claim.folder.config().title
        order.append(title)
        claims_by_title[title] = claim
        if title == "c1":  # the order of the other runs does not depend on its end
            queue.release(claim, ValueError("ended by the test"))
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]
    for claim in claims_by_title.values():
        claim.lock.close()


def test_a_pausing_run_is_never_shown_as_cancelled(make_idle_jobs: MakeIdleJobs) -> None:
    """On the worker's signal, the trainer reports "cancelled"; then the worker reports "paused"."""
    jobs = make_idle_jobs()
    name = submit_run(jobs, "a", "ann")
    queue = jobs.queue
    claim = queue.claim_next("worker")
    assert claim
    jobs.control(name, "ann", command="pause")
    claim.folder.change_state("cancelled", "stopped after step 7")
    assert (jobs.run(name).status, jobs.run(name).pending_command) == ("running", "pause")
    jobs.control(name, "ann", command="pause")  # a second click is no error
    queue.release(claim, None, interrupted=True)
    assert jobs.run(name).status == "paused"


RESTART_TEXT = "starts again at step 0, since nothing was saved"


def test_an_interrupted_run_names_the_step_that_it_continues_from(
    make_idle_jobs: MakeIdleJobs,
) -> None:
    """Regression: a run without a save named a later step, although it started again at step 0."""
    jobs = make_idle_jobs()
    name = submit_run(jobs, "a", "ann")
    queue = jobs.queue

    def interruption_reason(saved_step: int) -> str:
        claim = queue.claim_next("worker")
        assert claim
        claim.folder.append_metrics({"step": 157, "loss": 1.0, "seconds": 0.1, "share": 0.5})
        if saved_step:
            save(claim.folder, saved_step)
        queue.release(claim, None, interrupted=True)
        return jobs.run(name).reason

    assert (
        interruption_reason(0) == f"interrupted at step 157; {RESTART_TEXT} when a worker is free"
    )
    assert interruption_reason(150) == (
        "interrupted at step 157; continues from the save at step 150 when a worker is free"
    )
    claim = queue.claim_next("worker")
    assert claim
    jobs.control(name, "ann", command="pause")
    queue.release(claim, None, interrupted=True)
    assert jobs.run(name).reason == (
        "paused after step 157; Resume continues from the save at step 150"
    )


def test_a_killed_run_of_the_command_line_has_failed(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    run = RunFolder(jobs.queue.root / "cats")
    with run.locked():
        run.write_config(run_config())
        run.write_state("running", step=0)
        assert jobs.run("cats").status == "running"
    assert jobs.run("cats").status == "failed"
    assert jobs.run("cats").reason == f"killed at step 0; the same command {RESTART_TEXT}"
    run.write_state("finished", step=10)
    assert jobs.run("cats").status == "finished"


@st.composite
def queues(draw: st.DrawFn) -> list[RunInfo]:
    status = st.sampled_from(["queued", "queued", "running", "finished", "paused"])
    owners_and_states = draw(st.lists(st.tuples(st.sampled_from("abc"), status), max_size=12))
    return [
        RunInfo(name=f"run{n}", holders=(owner,), status=state, turn=n)  # type: ignore[arg-type]
        for n, (owner, state) in enumerate(owners_and_states)
    ]


@given(queues())
def test_the_queue_is_fair(infos: list[RunInfo]) -> None:
    queue = queue_order(infos)
    assert sorted(info.turn for info in queue) == [i.turn for i in infos if i.status == "queued"]
    positions = {info.name: info.queue_position for info in with_queue_positions(infos)}
    assert [positions.pop(info.name) for info in queue] == [*range(1, len(queue) + 1)]
    assert set(positions.values()) <= {None}  # of runs that are not queued
    running = [info.owner for info in infos if info.status == "running"]
    n_running = {owner: running.count(owner) for owner in "abc"}
    for index, info in enumerate(queue):
        # No owner of a queued run has fewer running than the owner of the next one.
        waiting_runs = queue[index:]
        assert n_running[info.owner] == min(n_running[waiting.owner] for waiting in waiting_runs)
        # Among owners with equally many, the run that was queued first is next.
        candidates = [i for i in waiting_runs if n_running[i.owner] == n_running[info.owner]]
        assert info.turn == min(i.turn for i in candidates)
        n_running[info.owner] += 1


def test_only_the_owner_controls_a_run_and_everybody_sees_it(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    name = submit_run(jobs, "mine", "ann")
    for other_visitor in ("bob", "", "Ann", "ann "):
        for action in (jobs.resume, jobs.delete):
            with pytest.raises(JobError, match="is not your run"):
                action(name, other_visitor)
        with pytest.raises(JobError, match="is not your run"):
            jobs.control(name, other_visitor, command="stop")
    assert jobs.run(name).status == "queued"
    assert jobs.run(name).title == "mine"
    for owner in ("", "x" * 201):
        with pytest.raises(JobError, match="needs an owner"):
            submit_run(jobs, "unowned", owner)


def test_a_queued_run_starts_as_soon_as_another_ends(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    first, second = submit_run(jobs, "one", "ann"), submit_run(jobs, "two", "bob")
    jobs.control(first, "ann", command="pause")
    assert (jobs.run(first).status, jobs.run(second).queue_position) == ("paused", 1)
    jobs.control(first, "ann", command="run")
    assert (jobs.run(first).queue_position, jobs.run(second).queue_position) == (1, 2)
    jobs.control(first, "ann", command="pause")
    jobs.control(first, "ann", command="stop", save=True)
    assert (jobs.run(first).status, jobs.run(first).reason) == (
        "cancelled",
        "stopped while it was paused",
    )
    assert jobs.folder(first).control().save == 1
    jobs.resume(first, "ann")
    assert jobs.run(first).queue_position == 1
    assert jobs.folder(first).control().command == "run"
    for invalid_control in ({"command": "dance"}, {"learning_rate_factor": float("nan")}):
        with pytest.raises(JobError, match=r"the command must be|learning_rate_factor must be"):
            jobs.control(first, "ann", **invalid_control)  # type: ignore[arg-type]
