"""The training loop ends correctly, averages weights, and stores why it stopped."""

from __future__ import annotations

import functools
import itertools
import math
import os
import signal
import time
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file

from tests.training.conftest import MakeTrainer, call_at, translation_task
from transformer.checkpoint import load_checkpoint
from transformer.training.learner import numeric_environment
from transformer.training.run_folder import TrainingError
from transformer.training.train_folder import TranslationTask


def test_a_finished_run_has_all_metrics_and_its_state(make_trainer: MakeTrainer) -> None:
    lines: list[dict[str, Any]] = []
    trainer = make_trainer(steps=12, report=lines.append)
    assert trainer.train() == "finished"
    run = trainer.run
    assert run.metrics() == lines
    steps, validations = (
        [line for line in lines if kind in line] for kind in ("loss", "valid_loss")
    )
    assert [line["step"] for line in steps] == [*range(1, 13)]
    assert [line["step"] for line in validations] == [4, 8, 12]
    assert validations[0]["perplexity"] == pytest.approx(math.exp(validations[0]["valid_loss"]))
    assert steps[9]["learning_rate"] == pytest.approx(0.01)  # the end of the warm-up
    assert [line["share"] for line in steps] == [n / 12 for n in range(12)]
    state = run.state()
    step_seconds = sum(line["seconds"] for line in steps)
    assert state.pop("seconds") > step_seconds - 0.06, "rounded; includes time between steps"
    environment = {key: state.pop(key) for key in numeric_environment()}
    assert environment == numeric_environment() | {"threads": environment["threads"]}
    assert environment["threads"] >= 1
    assert state == {
        "status": "finished",
        "reason": "all 12 steps taken",
        "step": 12,
        "device": "cpu",
        "precision": "fp32",
    }
    # A finished run that is started again does nothing.
    resumed = make_trainer(steps=12)
    assert resumed.train() == "finished"
    assert run.metrics() == lines


def test_the_checkpoint_is_the_mean_of_the_saved_weights(make_trainer: MakeTrainer) -> None:
    """Weights are saved at steps 3, 6, 9 and 11, the last; the last three are kept and averaged."""
    trainer = make_trainer(steps=11, save_every=3, average=3)
    trainer.train()
    files = sorted((trainer.run.path / "weights").iterdir())
    assert [file.name for file in files] == [f"{n:08d}.safetensors" for n in (6, 9, 11)]
    saved_weights = [load_file(file) for file in files]
    for name, weight in trainer.learner.model.named_parameters():
        assert torch.equal(saved_weights[-1][name], weight)
    model, _ = load_checkpoint(trainer.run.checkpoint_path)
    for name, weight in model.named_parameters():
        mean = torch.stack([weights[name] for weights in saved_weights]).double().mean(0)
        torch.testing.assert_close(weight.double(), mean, rtol=2**-11, atol=1e-7)
    card = (trainer.run.checkpoint_path / "README.md").read_text()
    assert "11 steps of at most 400" in card
    assert "The weights are the mean of the last 3 saves." in card


def task_with_losses(*losses: float) -> type[TranslationTask]:
    """Return a task whose validations give these losses in turn."""
    remaining = iter(losses)

    class ScriptedTask(TranslationTask):
        def validation_loss(self) -> float:
            return next(remaining)

    return ScriptedTask


def test_run_stops_when_patience_is_used_up(make_trainer: MakeTrainer) -> None:
    settings: dict[str, Any] = {"steps": 100, "valid_every": 2, "save_every": 16, "patience": 3}
    losses = task_with_losses(3.0, 2.0, 2.5, 2.0, 1.0, 1.5, 1.0, 1.25)
    trainer = make_trainer(task_class=losses, **settings)
    assert trainer.train() == "finished"
    assert trainer.run.state()["reason"] == "no better validation loss in 3 validations, at step 16"
    assert trainer.loop.best_valid == 1.0
    # The last weights are saved, and a restart adds no step ...
    assert [*(trainer.run.path / "weights").glob("*16.safetensors")]
    assert make_trainer(**settings).train() == "finished"
    assert trainer.run.metrics()[-1]["step"] == 16
    # ... unless patience is increased.
    more = make_trainer(task_class=task_with_losses(5.0), **settings | {"patience": 4})
    assert more.train() == "finished"
    assert trainer.run.state()["reason"] == "no better validation loss in 4 validations, at step 18"


def test_evaluations_do_not_count_for_patience(make_trainer: MakeTrainer) -> None:
    """The evaluated pairs are few, and may be easier than all validation pairs."""
    losses = task_with_losses(3.0, 2.5, 2.0, 1.5, 1.25, 1.1)
    trainer = make_trainer(task_class=losses, steps=12, valid_every=2, patience=2)

    class ConstantEvaluations:
        def evaluate_if_due(self, *_: object, **__: object) -> dict[str, float]:
            return {"valid_loss": 0.5}

        def before_update(self) -> None: ...

    translation_task(trainer).callback = ConstantEvaluations()  # type: ignore[assignment]
    assert trainer.train() == "finished"
    assert trainer.loop.step == 12
    assert trainer.loop.best_valid == 1.1


def test_minutes_limit_run_and_cooldown(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this fake clock every step takes six seconds, so that a minute has ten steps."""
    clock = itertools.count(0.0, 2.0)  # read once between steps, twice in a step
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    trainer = make_trainer(steps=1000, minutes=1.0, cooldown=0.5, warmup=1, valid_every=100)
    assert trainer.train() == "finished"
    state = trainer.run.state()
    assert 6 <= state["step"] <= 10
    assert state["reason"] == f"1 minutes used up, after step {state['step']}"
    shares = [line["share"] for line in trainer.run.metrics()]
    rates = [line["learning_rate"] for line in trainer.run.metrics()]
    assert shares == sorted(shares)
    assert shares[-1] < 1
    for step, (share, rate) in enumerate(zip(shares, rates, strict=True), start=1):
        assert rate == pytest.approx(0.01 * step**-0.5 * min(1.0, (1 - share) / 0.5))


def test_nonfinite_loss_fails_the_run(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(save_every=2)
    weight = trainer.learner.working.embedding.weight.data
    trainer.report = call_at(3, lambda: weight[5].fill_(math.nan))
    with pytest.raises(TrainingError, match=r"loss was nan .* at step 4: lower the learning rate"):
        trainer.train()
    state = trainer.run.state()
    assert (state["status"], state["step"]) == ("failed", 4)
    assert "the loss was nan" in state["reason"]
    # Earlier saves are intact, and the run continues from there.
    assert load_checkpoint(trainer.run.checkpoint_path)
    resumed = make_trainer(save_every=2)
    assert resumed.loop.step == 2
    assert resumed.train() == "finished"


@pytest.mark.skipif(os.name != "posix", reason="a process cannot send itself signals")
@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_ends_the_run_after_a_step(signal_name: str, make_trainer: MakeTrainer) -> None:
    signal_number = getattr(signal, signal_name)
    handler_before = signal.getsignal(signal_number)

    trainer = make_trainer(report=call_at(7, lambda: os.kill(os.getpid(), signal_number)))
    assert trainer.train() == "cancelled"
    assert signal.getsignal(signal_number) is handler_before
    state = trainer.run.state()
    assert (state["status"], state["reason"]) == ("cancelled", "stopped after step 7")
    weights = load_file(trainer.run.path / "weights" / "00000007.safetensors")
    assert torch.equal(weights["embedding.weight"], trainer.learner.model.embedding.weight)
    assert load_checkpoint(trainer.run.checkpoint_path)
    assert make_trainer().loop.step == 7


def test_a_full_disk_fails_the_run_and_keeps_the_last_save(make_trainer: MakeTrainer) -> None:
    """No file may grow past 20 kB from step 6 on: the next save, at 10, cannot be written."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, hard))
    trainer = make_trainer(report=call_at(6, limit))
    try:
        with pytest.raises(TrainingError, match=r"could not be written at step 10 \(.+\); once"):
            trainer.train()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    state = trainer.run.state()
    assert state["status"] == "failed"
    assert "could not be written at step 10" in state["reason"]
    names = {path.name for path in trainer.run.path.rglob("*")}
    assert not [name for name in names if name.startswith(".")]
    resumed = make_trainer()
    assert resumed.loop.step == 5
    assert resumed.train() == "finished"


def test_any_other_error_becomes_the_failure_reason(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(report=Mock(side_effect=RuntimeError("CUDA out of memory")))
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer.train()
    assert trainer.run.state()["status"] == "failed"
    assert trainer.run.state()["reason"] == "CUDA out of memory"


def test_large_seeds_are_accepted(make_trainer: MakeTrainer) -> None:
    """Regression: the combination of step and seed exceeded the 64 bits of torch's generators."""
    first_losses = set()
    for number, seed in enumerate((20_261_121, 2**70 + 1, 2**70 + 2)):
        trainer = make_trainer(str(number), steps=1, seed=seed)
        trainer.train()
        first_losses.add(trainer.run.metrics()[0]["loss"])
    assert len(first_losses) == 3
