"""One run of the race between layer types: its settings, files, resuming and learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import KilledError, call_at, kill
from transformer.jobs.limits import Limits
from transformer.model.tagger import count_weights
from transformer.training.layer_race import (
    N_EVALUATIONS,
    REFERENCE_LAYER,
    VALID_PER_DISTANCE,
    make_layer_run_config,
)
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import train_run

SHAPE: dict[str, Any] = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
OPTIONS: dict[str, int] = {"letters": 4, "word": 2, "longest": 6}
SETTINGS = {**SHAPE, "steps": 20, "batch_tokens": 112, "warmup": 5, "save_every": 5}


def make_run(path: Path, **settings: Any) -> RunFolder:
    run = RunFolder(path)
    path.mkdir()
    run.write_config(
        make_layer_run_config(settings={**SETTINGS, **settings}, options=OPTIONS, title="A run")
    )
    return run


def losses(run: RunFolder) -> list[tuple[int, float]]:
    return [(line["step"], line["loss"]) for line in run.metrics() if "loss" in line]


@contextmanager
def call_at_step(step: int, function: Callable[[], object]) -> Iterator[None]:
    """Within the block, call `function` when the run writes the metrics of this step."""
    append_metrics, call_if_due = RunFolder.append_metrics, call_at(step, function)

    def append_and_call(run: RunFolder, line: Any) -> None:
        append_metrics(run, line)
        call_if_due(line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "append_metrics", append_and_call)
        yield


@pytest.mark.parametrize(
    "layer", ["recurrent", "convolutional", "restricted", "dilated", "lstm", "gru"]
)
def test_all_layer_types_have_almost_equally_many_weights(layer: str) -> None:
    config = make_layer_run_config(settings={"layer": layer, "k": 7, "r": 17})
    reference = make_layer_run_config(settings={"layer": REFERENCE_LAYER})
    assert abs(config.layer.weights / reference.layer.weights - 1) < 0.02
    assert config.layer.weights == count_weights(layer, config.model, 8, k=7, r=17)
    assert reference.layer.reach is None
    reach = {"convolutional": 6, "restricted": 16, "dilated": 15}  # the others reach every position
    assert config.layer.reach == reach.get(layer)
    assert (config.training, config.options) == (reference.training, reference.options)
    assert Limits().check_run(config).to_dict()["data"]["task"] == "gap"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "copy"}, "layer types are compared on the task 'gap', not on 'copy'"),
        ({"settings": {"layers": 2}}, "no setting 'layers'; did you mean"),
        ({"settings": {"layer": "pooling"}}, "no layer 'pooling'"),
        ({"settings": {"layer": "convolutional", "k": 4}}, "k must be odd, not 4"),
        ({"options": {"longst": 4}}, "no option 'longst'; did you mean 'longest'"),
        ({"options": {"letters": 99}}, "letters must be from 2 to 26, not 99"),
    ],
)
def test_invalid_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_layer_run_config(**arguments)


def test_run_writes_steps_evaluations_and_examples(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", layer="restricted", r=3)
    assert train_run(run.path) == "finished"
    assert run.state()["reason"] == "all 20 steps taken"
    assert [step for step, _ in losses(run)] == [*range(1, 21)]
    evaluations = [line for line in run.metrics() if "by_distance" in line]
    assert [evaluation["step"] for evaluation in evaluations] == [
        *range(0, 21, 20 // N_EVALUATIONS)
    ]
    for evaluation in evaluations:
        assert set(evaluation["by_distance"]) == {"2", "3", "4", "6"}
        accuracies = evaluation["by_distance"].values()
        assert evaluation["token_accuracy"] == pytest.approx(sum(accuracies) / 4)
        # A word is correct if both its letters are.
        assert 2 * evaluation["token_accuracy"] - 1 <= evaluation["sequence_accuracy"] + 1e-6
        assert evaluation["sequence_accuracy"] <= evaluation["token_accuracy"] <= 1
    (*_, last) = run.examples()
    assert last["step"] == 20
    for example in last["examples"]:
        assert example["src"].startswith(example["tgt"])
        assert example["right"] == (example["output"] == example["tgt"])
    assert not run.checkpoint_path.exists()


def test_a_resumed_run_takes_the_same_steps(tmp_path: Path) -> None:
    reference, interrupted = (
        make_run(tmp_path / name, layer="recurrent") for name in ("reference", "interrupted")
    )
    train_run(reference.path)
    with call_at_step(12, kill), pytest.raises(KilledError):
        train_run(interrupted.path)
    assert losses(interrupted)[-1][0] == 12  # two steps past the last save
    assert train_run(interrupted.path) == "finished"
    assert losses(interrupted) == losses(reference)
    steps = [evaluation["step"] for evaluation in interrupted.examples()]
    assert steps == [evaluation["step"] for evaluation in reference.examples()]


def test_convolution_learns_within_its_receptive_field_only(tmp_path: Path) -> None:
    settings = {"layer": "convolutional", "k": 7, "steps": 300, "batch_tokens": 448}
    run = make_run(tmp_path / "run", learning_rate=0.005, warmup=20, **settings)
    train_run(run.path)
    *_, last = (line for line in run.metrics() if "by_distance" in line)
    for distance, accuracy in last["by_distance"].items():
        if int(distance) <= 3:
            assert accuracy > 0.8
        else:  # chance level 1/4, within four standard deviations
            assert abs(accuracy - 1 / 4) < 4 * (1 / 4 * 3 / 4 / (2 * VALID_PER_DISTANCE)) ** 0.5
