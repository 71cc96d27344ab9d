"""Requests in control.json: pause, stop, save, learning rate. A corrupt file is ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import MakeTrainer, call_at, losses
from transformer.training import trainer as trainer_module
from transformer.training.run_folder import Control, RunFolder


@pytest.fixture(autouse=True)
def poll_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the file at every step, because these steps are faster than the usual interval."""
    monkeypatch.setattr(trainer_module, "CONTROL_POLL_SECONDS", 0.0)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"command": "paws"}', '{"learning_rate_factor": NaN}', '{"save": "x"}']
)
def test_corrupt_file_gives_the_default(content: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    (tmp_path / "control.json").write_text(content)
    assert run.control() == Control()


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [("stop", "cancelled", "stopped after step 7"), ("pause", "paused", "paused after step 7")],
)
def test_stop_and_pause_save_after_the_current_step(
    command: str, status: str, reason: str, make_trainer: MakeTrainer
) -> None:
    """The resumed run takes the same steps as one without an interruption."""
    reference = make_trainer("reference")
    reference.train()
    trainer = make_trainer(report=call_at(7, lambda: trainer.run.write_control(command=command)))
    assert trainer.train() == status
    state = trainer.run.state()
    assert (state["status"], state["reason"]) == (status, reason)
    trainer.run.write_control(command="run")
    resumed = make_trainer()
    assert resumed.loop.step == 7
    assert resumed.train() == "finished"
    assert losses(resumed.run) == losses(reference.run)


def test_increasing_the_save_counter_saves_once(make_trainer: MakeTrainer) -> None:
    saved: list[bool] = []

    def request_save(line: dict[str, Any]) -> None:
        if line["step"] == 2:
            trainer.run.write_control(save=5)
        if line["step"] == 3:
            saved.append((trainer.run.checkpoint_path / "model.safetensors").is_file())
            saved.append((trainer.run.path / "weights" / "00000002.safetensors").is_file())

    trainer = make_trainer(report=request_save, average=9)
    trainer.train()
    assert saved == [True, True]
    weights = sorted(path.stem for path in (trainer.run.path / "weights").iterdir())
    assert weights == ["00000002", "00000005", "00000010", "00000012"]  # and only once


def test_factor_scales_the_scheduled_rate(make_trainer: MakeTrainer) -> None:
    reference = make_trainer("reference")
    reference.train()

    trainer = make_trainer(
        "other", report=call_at(5, lambda: trainer.run.write_control(learning_rate_factor=0.25))
    )
    trainer.train()
    steps = [[line for line in t.run.metrics() if "loss" in line] for t in (reference, trainer)]
    factors = [line["learning_rate_factor"] for line in steps[1]]
    assert factors == [1.0] * 5 + [0.25] * 7
    for reference_line, line, factor in zip(*steps, factors, strict=True):
        assert line["learning_rate"] == pytest.approx(reference_line["learning_rate"] * factor)
    assert [line["loss"] for line in steps[0]][:6] == [line["loss"] for line in steps[1]][:6]
    assert steps[0][6]["loss"] != steps[1][6]["loss"]
