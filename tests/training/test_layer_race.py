"""The race of layers, one run: what is asked of it, what it writes, that it resumes and learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import KilledError, at, kill
from transformer.jobs.limits import Limits
from transformer.model.tagger import count_weights
from transformer.training.layer_race import LOOKS, STANDARD, VALID, describe
from transformer.training.machine import made_with
from transformer.training.run import RunFolder
from transformer.training.train_folder import train_run

SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
NEAR: dict[str, int] = {"letters": 4, "word": 2, "longest": 6}
QUICK = {**SMALL, "steps": 20, "batch_tokens": 112, "warmup": 5, "save_every": 5}


def run_of(path: Path, **settings: Any) -> RunFolder:
    run = RunFolder(path)
    path.mkdir()
    run.write_config(describe(settings={**QUICK, **settings}, options=NEAR, title="A run"))
    return run


def losses(run: RunFolder) -> list[tuple[int, float]]:
    return [(line["step"], line["loss"]) for line in run.metrics() if "loss" in line]


@contextmanager
def acting(step: int, act: Callable[[], object]) -> Iterator[None]:
    """Within the block a run acts when its line of this step is written."""
    append, then = RunFolder.append_metrics, at(step, act)

    def appended(run: RunFolder, line: Any) -> None:
        append(run, line)
        then(line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "append_metrics", appended)
        yield


@pytest.mark.parametrize(
    "layer", ["recurrent", "convolutional", "restricted", "dilated", "lstm", "gru"]
)
def test_all_layers_are_asked_for_as_many_weights(layer: str) -> None:
    config = describe(settings={"layer": layer, "k": 7, "r": 17})
    standard = describe(settings={"layer": STANDARD})
    assert abs(config.layer.weights / standard.layer.weights - 1) < 0.02
    assert config.layer.weights == count_weights(layer, config.model, 8, k=7, r=17)
    assert standard.layer.reach is None
    reach = {"convolutional": 6, "restricted": 16, "dilated": 15}  # the others hear of all
    assert config.layer.reach == reach.get(layer)
    assert (config.training, config.options) == (standard.training, standard.options)
    assert Limits().checked(config, {}).to_dict()["data"]["task"] == "gap"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "copy"}, "layers race on the task 'gap', not on 'copy'"),
        ({"settings": {"layers": 2}}, "no setting 'layers'; did you mean"),
        ({"settings": {"layer": "pooling"}}, "no layer 'pooling'"),
        ({"settings": {"layer": "convolutional", "k": 4}}, "k must be odd, not 4"),
        ({"options": {"longst": 4}}, "no option 'longst'; did you mean 'longest'"),
        ({"options": {"letters": 99}}, "letters must be from 2 to 26, not 99"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        describe(**given)


def test_a_run_writes_steps_looks_and_examples(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", layer="restricted", r=3)
    assert train_run(run.path) == "finished"
    assert run.state()["reason"] == "all 20 steps taken"
    assert [step for step, _ in losses(run)] == [*range(1, 21)]
    looks = [line for line in run.metrics() if "by_distance" in line]
    assert [look["step"] for look in looks] == [*range(0, 21, 20 // LOOKS)]
    for look in looks:
        assert set(look["by_distance"]) == {"2", "3", "4", "6"}
        shares = look["by_distance"].values()
        assert look["token_accuracy"] == pytest.approx(sum(shares) / 4)
        # A word is right where both its letters are.
        assert 2 * look["token_accuracy"] - 1 <= look["sequence_accuracy"] + 1e-6
        assert look["sequence_accuracy"] <= look["token_accuracy"] <= 1
    (*_, last) = run.examples()
    assert last["step"] == 20
    for example in last["examples"]:
        assert example["src"].startswith(example["tgt"])
        assert example["right"] == (example["output"] == example["tgt"])
    assert not run.checkpoint_path.exists()


def test_a_resumed_run_takes_the_same_steps(tmp_path: Path) -> None:
    whole, halved = (run_of(tmp_path / name, layer="recurrent") for name in ("whole", "halved"))
    train_run(whole.path)
    with acting(12, kill), pytest.raises(KilledError):
        train_run(halved.path)
    assert losses(halved)[-1][0] == 12  # two steps past the last save
    assert train_run(halved.path) == "finished"
    assert losses(halved) == losses(whole)
    steps = [look["step"] for look in halved.examples()]
    assert steps == [look["step"] for look in whole.examples()]


def test_a_run_stops_when_it_is_asked_to_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path / "run")
    monkeypatch.setattr("transformer.training.control_file.LOOK_EVERY", 0.0)
    with acting(7, lambda: run.write_control(command="stop")):
        assert train_run(run.path) == "cancelled"
    state = run.state()
    assert state.pop("precision") == "fp32"
    assert made_with().keys() <= state.keys()
    assert {k: v for k, v in state.items() if k not in made_with()} | {"seconds": 0} == {
        "status": "cancelled",
        "reason": "stopped after step 7",
        "step": 7,
        "seconds": 0,
        "device": "cpu",
        "processes": 1,
    }
    assert train_run(run.path) == "finished"  # and goes on from there
    assert [step for step, _ in losses(run)] == [*range(1, 21)]


def test_a_loss_that_is_no_number_is_a_failure_with_a_sentence(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", learning_rate=1e30, clip_norm=0.0)
    assert train_run(run.path) == "failed"
    assert "lower the learning rate, or raise warmup above 5" in run.state()["reason"]


def test_a_kernel_learns_what_it_reaches_and_guesses_beyond(tmp_path: Path) -> None:
    settings = {"layer": "convolutional", "k": 7, "steps": 300, "batch_tokens": 448}
    run = run_of(tmp_path / "run", learning_rate=0.005, warmup=20, **settings)
    train_run(run.path)
    *_, last = (line for line in run.metrics() if "by_distance" in line)
    for distance, right in last["by_distance"].items():
        if int(distance) <= 3:
            assert right > 0.8
        else:  # guesses of one in four, within four standard deviations
            assert abs(right - 1 / 4) < 4 * (1 / 4 * 3 / 4 / (2 * VALID)) ** 0.5
