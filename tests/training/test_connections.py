"""Connections between heads at the steps of a run: saved weights, stored results and errors."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.conftest import COPY_RUN
from transformer.analysis.circuits import find_connections
from transformer.checkpoint import load_checkpoint
from transformer.run_config import FilmRun
from transformer.training import evaluation_callback, step_weights
from transformer.training.connections import (
    compute,
    held_out_pairs,
    run_connections,
    why_unavailable,
)
from transformer.training.run import RunError, RunFolder
from transformer.training.step_weights import StepWeights
from transformer.training.train_folder import train_run


@pytest.fixture(scope="module")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a run of 8 steps with a snapshot at every step."""
    run = RunFolder(tmp_path_factory.mktemp("trained"))
    run.write_config(COPY_RUN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation_callback, "FREE_SECONDS", math.inf)
        assert train_run(run.path) == "finished"
    return run


@pytest.fixture
def run(trained_run: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(trained_run.path, tmp_path / "run"))


def test_weights_are_kept_at_every_snapshot(run: RunFolder) -> None:
    assert run.weight_steps() == run.snapshots() == list(range(9))
    final, _ = load_checkpoint(run.checkpoint_path)
    loaded = StepWeights(run).load(COPY_RUN.model, 8)
    for name, weight in final.named_parameters():
        assert torch.equal(weight, loaded.get_parameter(name)), name
    first = StepWeights(run).load(COPY_RUN.model, 0)
    assert not torch.equal(first.embedding.weight, loaded.embedding.weight)


def test_steps_are_thinned_and_large_models_left_out(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_weights, "MAX_STEPS", 5)
    weights = StepWeights(run)
    model = weights.load(COPY_RUN.model, 8)
    weights.save(model, 16)
    assert len(weights.steps()) == 5
    assert {0, 16} < {*weights.steps()}
    monkeypatch.setattr(step_weights, "MAX_PARAMETERS", 100)
    weights.save(model, 32)
    assert 32 not in weights.steps()


def test_connections_are_computed_once_and_stored(run: RunFolder) -> None:
    stages: list[str] = []
    first = run_connections(
        run.path, [0, 8], progress=lambda _, stage, __=None: stages.append(stage)
    )
    assert list(first) == run.connection_steps() == [0, 8]
    assert "step 8" in stages
    model = StepWeights(run).load(COPY_RUN.model, 8)
    expected = find_connections(model, held_out_pairs(run))
    stored = run.connections(8)
    assert stored["edges"] == len(expected.table)
    assert [row["score"] for row in stored["table"]] == pytest.approx(
        expected.strongest()["score"].tolist(), rel=1e-4
    )
    # Without the weights, as in a shipped run, the connections are read from the folder.
    shutil.rmtree(run.step_weights_path)
    second = run_connections(run.path)
    assert second[8].table["effect"].tolist() == pytest.approx(
        first[8].patched["effect"].tolist(), rel=1e-4
    )
    assert not why_unavailable(run)


def test_without_saved_weights_the_checkpoint_is_used_for_the_last_step(run: RunFolder) -> None:
    expected = run_connections(run.path, [8])[8]
    shutil.rmtree(run.step_weights_path)
    shutil.rmtree(run.connections_path)
    ((step, connections),) = run_connections(run.path).items()
    assert step == 8
    assert connections.table["score"].tolist() == pytest.approx(expected.table["score"].tolist())
    assert not run.connection_steps()  # nothing is written to the folder of a shipped run


def test_a_page_gets_the_same_numbers(run: RunFolder) -> None:
    result = compute({"run": str(run.path), "steps": [4]}, lambda *_: None)
    assert result["connections"]["4"]["table"] == run.connections(4)["table"]


def test_a_rewound_run_computes_later_steps_again(run: RunFolder) -> None:
    run_connections(run.path, [2, 8])
    run.rewind(4)
    assert run.weight_steps() == [0, 1, 2, 3, 4]
    assert run.connection_steps() == [2]


def test_invalid_runs_are_refused_in_one_sentence(run: RunFolder) -> None:
    with pytest.raises(RunError, match=r"^the weights of step 7,000 are not kept; the"):
        run_connections(run.path, [7000])
    (run.step_weights_path / "00000008.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match=r"^the weights of step 8 cannot be read"):
        run_connections(run.path, [8])
    shutil.rmtree(run.step_weights_path)
    shutil.rmtree(run.checkpoint_path)
    with pytest.raises(RunError, match="were not kept; train a similar run"):
        run_connections(run.path)
    large_model = replace(COPY_RUN.model, d_model=256, n_heads=8, n_layers=6, d_ff=1024)
    run.write_config(replace(COPY_RUN, model=large_model))
    assert "parameters; connections are computed for models with at most" in why_unavailable(run)
    many_heads = replace(COPY_RUN.model, d_model=64, n_heads=16, n_layers=6, d_ff=8)
    run.write_config(replace(COPY_RUN, model=many_heads))
    assert "connections between its heads; at most 8,000" in why_unavailable(run)
    run.write_config(FilmRun(title="A film", checkpoint="en-fr"))
    assert why_unavailable(run) == "the weights of this training were not kept, only its film"
