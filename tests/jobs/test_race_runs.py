"""The runs of a race: queueing, cancelling, reading and training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.jobs.conftest import MakeIdleJobs
from transformer.jobs import JobError
from transformer.jobs.race_runs import (
    end_race,
    race_runs,
    read_race,
    standings,
    submit_race,
    track,
)
from transformer.training.races import RACES


def test_a_race_is_queued_seed_by_seed(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    race_id = submit_race(jobs, "positions", "ann", seeds=(4, 9))
    other_race = submit_race(jobs, "positions", "bob", seeds=(4,))
    assert race_id != other_race
    runs = race_runs(jobs, race_id)
    entries = list(RACES["positions"].entries)
    assert [(run.race.entry, run.race.seed) for run in runs] == [
        *((entry, 4) for entry in entries),
        *((entry, 9) for entry in entries),
    ]
    assert {(run.race.name, run.info.owner) for run in runs} == {("positions", "ann")}
    configs = [jobs.folder(run.info.name).config().to_dict() for run in runs]
    assert [config["race"]["id"] for config in configs] == [race_id] * 6
    assert [config["model"]["positions"] for config in configs[:3]] == [
        "sinusoidal",
        "learned",
        "none",
    ]
    assert len(race_runs(jobs)) == 9
    assert race_runs(jobs, "nothing") == []


@pytest.mark.parametrize(
    ("race", "seeds", "message"),
    [
        ("score", (1,), "no race 'score': choose one of .*did you mean 'scores'"),
        ("scores", (), r"different seeds, 0 or more each, not \[\]"),
        ("scores", (1, 1), r"different seeds, 0 or more each, not \[1, 1\]"),
        ("scores", (-1,), r"different seeds, 0 or more each, not \[-1\]"),
    ],
)
def test_an_invalid_race_is_refused(
    make_idle_jobs: MakeIdleJobs, race: str, seeds: tuple[int, ...], message: str
) -> None:
    jobs = make_idle_jobs()
    with pytest.raises(JobError, match=message):
        submit_race(jobs, race, "ann", seeds)
    with pytest.raises(ValueError, match="has no entry 'four'; it has sinusoidal"):
        RACES["positions"].config("four", 1, "")
    assert jobs.runs() == []


def test_a_race_over_the_limits_leaves_no_runs(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs(runs_per_visitor=8, queued=9)
    submit_race(jobs, "warm-up", "ann", (1, 2))
    with pytest.raises(
        JobError, match="has 6 runs and you keep 4 runs and this app allows 8: delete some"
    ):
        submit_race(jobs, "positions", "ann", (1, 2))
    with pytest.raises(
        JobError, match="has 6 runs and 4 runs are waiting and this app allows 9: try again"
    ):
        submit_race(jobs, "positions", "bob", (1, 2))
    assert len(jobs.runs()) == 4
    # The runs with d_k 64 are refused, after the smaller ones with d_k 16 were queued.
    small_models_only = make_idle_jobs(parameters=20_000)
    with pytest.raises(JobError, match="this app allows at most 20,000"):
        submit_race(small_models_only, "scores", "cid", (1,))
    assert small_models_only.runs("cid") == []


def test_cancel_and_delete_change_only_own_runs_of_the_race(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    own_race = submit_race(jobs, "warm-up", "ann", (1,))
    other_race = submit_race(jobs, "warm-up", "ann", (1,))
    assert end_race(jobs, own_race, "bob") == end_race(jobs, own_race, "bob", delete=True) == 0
    assert end_race(jobs, own_race, "ann") == 2
    assert [run.info.status for run in race_runs(jobs, own_race)] == ["cancelled"] * 2
    assert [run.info.status for run in race_runs(jobs, other_race)] == ["queued"] * 2
    assert end_race(jobs, own_race, "ann") == 0
    assert end_race(jobs, own_race, "ann", delete=True) == 2
    assert {run.race.id for run in race_runs(jobs)} == {other_race}


def test_a_race_for_a_class_is_controlled_by_the_visitor_who_started_it(
    make_idle_jobs: MakeIdleJobs,
) -> None:
    jobs = make_idle_jobs()
    race = submit_race(jobs, "warm-up", "teacher", (1,), owners=("ann", "bob"))
    infos = [run.info for run in race_runs(jobs, race)]
    assert [(info.owner, info.requester) for info in infos] == [
        ("ann", "teacher"),
        ("bob", "teacher"),
    ]
    assert end_race(jobs, race, "ann") == end_race(jobs, race, "bob", delete=True) == 0
    assert end_race(jobs, race, "teacher") == 2
    assert {run.info.status for run in race_runs(jobs, race)} == {"cancelled"}
    assert end_race(jobs, race, "teacher", delete=True) == 2
    assert race_runs(jobs) == []


def _write_result(path: Path, steps: int, loss: float, status: str = "finished") -> None:
    evaluated = {"step": steps, "valid_loss": loss, "sequence_accuracy": 1.0}
    lines = [{"step": 1, "loss": 2.0, "seconds": 0.5}, evaluated]
    (path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    state = {"status": status, "reason": "made by hand", "step": steps}
    (path / "state.json").write_text(json.dumps(state))


def test_results_are_computed_from_the_files_of_the_runs(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    race_id = submit_race(jobs, "warm-up", "ann")
    steps = RACES["warm-up"].config("no warm-up", 1, "").training.steps
    _, (claim_verdict,) = standings(jobs, race_runs(jobs, race_id))
    assert claim_verdict.word == "inconclusive"
    for run in race_runs(jobs, race_id):
        loss = run.race.seed / 100 + (0.5 if run.race.entry == "no warm-up" else 0)
        _write_result(jobs.folder(run.info.name).path, steps, loss)
    table, (claim_verdict,) = standings(jobs, race_runs(jobs, race_id))
    assert list(table["n"]) == [3, 3]
    assert list(table["loss_mean"]) == pytest.approx([0.02, 0.52])
    assert list(table["loss_sd"]) == pytest.approx([0.01, 0.01])
    assert claim_verdict.word == "holds"
    first_run = race_runs(jobs, race_id)[0]
    folder = jobs.folder(first_run.info.name).path
    _write_result(folder, steps, 9.0)  # results are not cached: the file is read again
    assert standings(jobs, race_runs(jobs, race_id))[0]["loss_max"].iloc[0] == 9
    assert track(jobs, first_run).valid_loss.tolist() == [9.0]
    _write_result(folder, steps, 9.0, status="failed")
    assert list(standings(jobs, race_runs(jobs, race_id))[0]["n"]) == [2, 3]
    with pytest.raises(ValueError, match="no runs of this race"):
        standings(jobs, [])


def test_the_shipped_race_matches_the_current_layers() -> None:
    """If this fails, run `python docs/shipped_runs.py --race layers`."""
    stored_race = read_race(ROOT / "checkpoints", "layers", RACES["layers"].entries)
    assert stored_race is not None
    assert stored_race.table["accuracy"].between(0, 1).all()
