"""config.json: each kind of run survives a round trip, and errors are one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import corrupt_json
from transformer.config import ModelConfig, TrainingConfig
from transformer.training.run_config import (
    KINDS,
    FilesRun,
    FilmRun,
    PairsRun,
    RunConfig,
    TaskRun,
    parse,
    parse_title_and_owner,
)
from transformer.training.run_folder import RunError, RunFolder

MODEL = ModelConfig(vocab_size=20, d_model=8, n_layers=1, n_heads=2, d_ff=8)
TRAINING = TrainingConfig(steps=3)
RUNS: list[RunConfig] = [
    TaskRun(task="sort", options={"n_train": 9}, model=MODEL, training=TRAINING),
    PairsRun(
        pairs="pairs.tsv",
        model=MODEL,
        training=TRAINING,
        title="Mine",
        owner="ann",
        created=12.5,
        probes=(("a b", "b a"),),
        inspect="",
        max_pieces=64,
    ),
    FilesRun(
        train=("a.en", "a.fr"),
        valid=("b.tsv",),
        added={"more.tsv": 0.5},
        start_from="checkpoints/en-fr",
        model=MODEL,
        training=TRAINING,
        languages=("en", "fr"),
    ),
    FilesRun(train=("a.tsv",), model=MODEL, training=TRAINING),
    FilmRun(checkpoint="en-fr", title="The training of en-fr"),
    FilmRun(checkpoint="en-fr", model=MODEL, training=TRAINING),
]


def as_json(run: RunConfig) -> dict[str, Any]:
    """Return the content of config.json."""
    values: dict[str, Any] = json.loads(json.dumps(run.to_dict()))
    return values


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.kind)
def test_every_run_survives_a_round_trip(run: RunConfig) -> None:
    assert {type(config) for config in RUNS} == {*KINDS.values()}
    parsed = parse(as_json(run))
    assert parsed == run
    assert type(parsed) is type(run)


def test_shipped_runs_are_read() -> None:
    files = sorted(Path("checkpoints/runs").glob("*/config.json"))
    assert files
    for file in files:
        values = json.loads(file.read_text("utf-8"))
        assert as_json(parse(values)) == values


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "tusk"}, "one of task, pairs, files, film, not 'tusk'; did you mean"),
        ({"kind": "pairs"}, "the data of a run of pairs has no 'task'"),
        ({"data": {"task": "copy", "train": ["/etc/passwd"]}}, "has no 'train'"),
        ({"data": {}}, "TaskRun needs a value for task"),
        ({"data": {"task": "copy", "options": {"n_train": "9"}}}, "n_train must be a whole"),
        ({"task": "copy"}, "'task' of a run of task must be under 'data'"),
        ({"model": {**MODEL.to_dict(), "d_modle": 7}}, "has no field 'd_modle'; did you mean"),
        ({"created": float("inf")}, "created must be a finite number, not inf"),
        ({"titel": "x"}, "TaskRun has no field 'titel'; did you mean 'title'"),
        ({"probes": [["a"]]}, "probes must be pairs of two texts each"),
        ({"languages": ["en", "not a code"]}, "languages are two codes"),
    ],
)
def test_errors_are_reported(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse({**as_json(RUNS[0]), **changes})


def test_the_owner_of_an_invalid_file_is_known(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.write_config(RUNS[1])
    assert folder.config() == RUNS[1]
    file = folder.path / "config.json"
    values = json.loads(file.read_text())
    file.write_text(json.dumps({**values, "model": {}, "title": 3}))
    with pytest.raises(RunError, match=r"^run/config\.json is invalid: title must be a text"):
        folder.config()
    assert (
        folder.readable_config()
        == RunConfig(owner="ann")
        == parse_title_and_owner({"owner": "ann", "title": 3})
    )
    file.write_text("[")
    assert folder.readable_config() == RunConfig()
    folder.write_config(replace(RUNS[1], owner="bob"))
    assert folder.config().owner == "bob"  # the file has been replaced


@given(data=st.data())
def test_a_corrupt_file_is_refused_or_survives_a_round_trip(data: st.DataObject) -> None:
    text = data.draw(corrupt_json(as_json(data.draw(st.sampled_from(RUNS)))))
    try:
        values = json.loads(text)
        run = parse(values if isinstance(values, dict) else {})
    except (ValueError, RecursionError):
        return
    assert parse(as_json(run)) == run
