"""The real trainer in a real worker: tasks, uploaded pairs, a race of layer types, pausing."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.jobs.conftest import MakeIdleJobs, MakeJobs, start_workers, wait_until
from transformer.checkpoint import load_checkpoint
from transformer.jobs import JobError
from transformer.jobs.jobs import TRAINER
from transformer.jobs.race_runs import (
    COLUMNS,
    distance_accuracies,
    race_runs,
    standings,
    submit_race,
)
from transformer.text.files import write_json
from transformer.training import races as races_module
from transformer.training.races import RACES, Race
from transformer.training.recipe import make_run_config

SETTINGS = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}
RACE_SETTINGS = {"d_model": 16, "n_heads": 1, "d_ff": 64, "steps": 40, "batch_tokens": 112}


@pytest.mark.slow
def test_a_real_worker_trains_tasks_and_uploaded_pairs(make_jobs: MakeJobs, tmp_path: Path) -> None:
    jobs = start_workers(make_jobs(TRAINER))
    options = {"n_train": 400, "n_valid": 20}
    config = make_run_config(
        "copy", settings={**SETTINGS, "steps": 200}, options=options, title="Copy"
    )
    name = jobs.submit(config, "ann")
    wait_until(jobs, name, lambda info: info.step >= 20)
    jobs.control(name, "ann", command="pause")
    step = wait_until(
        jobs, name, lambda info: info.status == "paused" and not info.pending_command
    ).step
    assert step >= 20
    second_run = jobs.submit(
        make_run_config("copy", settings={**SETTINGS, "steps": 5}, options=options), "bob"
    )
    wait_until(jobs, second_run, "finished")  # the paused run does not block the queue
    assert jobs.run(name).status == "paused"
    jobs.resume(name, "ann")
    assert wait_until(jobs, name, "finished").step == 200
    steps = [line["step"] for line in jobs.folder(name).metrics() if "loss" in line]
    assert steps == [*range(1, 201)]
    with zipfile.ZipFile(io.BytesIO(jobs.archive(name))) as archive:
        archive.extractall(tmp_path / "unpacked")
    model, _ = load_checkpoint(tmp_path / "unpacked" / name / "checkpoint")
    assert model.config.d_model == 16

    settings = {**SETTINGS, "steps": 3, "vocab_size": 300}
    pairs = "".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(40)).encode()
    valid_run = jobs.submit(make_run_config(settings=settings), "ann", pairs)
    invalid_run = jobs.submit(make_run_config(settings=settings), "bob", b"no tab here\n")
    info = wait_until(jobs, valid_run, lambda info: info.status in ("finished", "failed"))
    assert info.status == "finished", info.reason
    assert "line 1" in wait_until(jobs, invalid_run, "failed").reason


@pytest.fixture
def small_race(monkeypatch: pytest.MonkeyPatch) -> Race:
    """Return the race "layers" with short sequences and two of its entries."""
    entries = {name: RACES["layers"].entries[name] for name in ("self-attention", "restricted")}
    race = replace(
        RACES["layers"],
        shared=RACE_SETTINGS,
        entries=entries,
        options={"letters": 4, "word": 2, "longest": 12},
        claims=(),
    )
    monkeypatch.setattr(races_module, "RACES", MappingProxyType({**RACES, "layers": race}))
    return race


def test_a_race_of_layers_is_trained_by_real_workers(make_jobs: MakeJobs, small_race: Race) -> None:
    jobs = start_workers(make_jobs(TRAINER))
    race_id = submit_race(jobs, "layers", "ann", (3,))
    for run in race_runs(jobs, race_id):
        wait_until(jobs, run.info.name, "finished")
    runs = race_runs(jobs, race_id)
    table = distance_accuracies(jobs, runs)
    assert tuple(table.columns) == COLUMNS
    assert table.groupby("entry")["distance"].apply(list).to_dict() == {
        entry: [2, 3, 4, 6, 8, 12] for entry in small_race.entries
    }
    reach = table.groupby("entry")["reach"].first()
    assert (reach["self-attention"], reach["restricted"]) == (math.inf, 8)
    assert set(table["chance"]) == {0.25}
    assert set(table["step"]) == {40}
    assert set(table["seed"]) == {3}
    assert len(set(table["weights"])) == 1
    results, _ = standings(jobs, runs)
    assert list(results["n"]) == [1, 1]
    with pytest.raises(JobError, match="has no checkpoint yet"):
        jobs.archive(runs[0].info.name)


def test_runs_without_evaluations_or_with_a_corrupt_config_are_omitted(
    make_idle_jobs: MakeIdleJobs,
) -> None:
    jobs = make_idle_jobs()
    race_id = submit_race(jobs, "layers", "ann", (1,))
    runs = race_runs(jobs, race_id)
    assert distance_accuracies(jobs, runs).empty
    evaluation = {"step": 0, "valid_loss": 2.0, "sequence_accuracy": 0.0, "by_distance": {"3": 0.5}}
    for run in runs[:2]:
        jobs.folder(run.info.name).metrics_path.write_text(json.dumps(evaluation) + "\n")
    table = distance_accuracies(jobs, runs)
    assert table["entry"].tolist() == ["self-attention", "recurrent"]
    assert table["accuracy"].tolist() == [0.5, 0.5]
    folder = jobs.folder(runs[0].info.name)
    write_json(folder.path / "config.json", {**folder.config().to_dict(), "layer": "?"})
    assert distance_accuracies(jobs, runs)["entry"].tolist() == ["recurrent"]
