"""A run obeys its control.json: pause, stop, save, another rate; a spoilt file harms nothing."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import KilledError, MakeTrainer, at, kill, losses
from transformer.training import control_file as control_module
from transformer.training.control_file import Control, ControlFile
from transformer.training.run import RunFolder


@pytest.fixture(autouse=True)
def at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is looked at again at once; steps here are quicker than the usual pause."""
    monkeypatch.setattr(control_module, "LOOK_EVERY", 0.0)


def test_the_file_comes_back(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert run.control() == Control("run", 1.0, 0)
    assert run.write_control(command="pause") == Control("pause", 1.0, 0)
    run.write_control(save=2, learning_rate_factor=0.5)
    assert run.control() == Control("pause", 0.5, 2)
    assert json.loads((tmp_path / "control.json").read_text()) == {
        "command": "pause",
        "learning_rate_factor": 0.5,
        "save": 2,
    }


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"command": "paws"}', '{"learning_rate_factor": NaN}', '{"save": "x"}']
)
def test_a_spoilt_file_asks_for_nothing(content: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    (tmp_path / "control.json").write_text(content)
    assert run.control() == Control()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"command": "paus"}, "one of run, pause, stop, not 'paus'; did you mean 'pause'"),
        ({"learning_rate_factor": -1}, "from 0 to 100, not -1"),
        ({"learning_rate_factor": float("nan")}, "from 0 to 100, not nan"),
        ({"learning_rate_factor": "2"}, "from 0 to 100, not '2'"),
        ({"save": -1}, "0 or more, not -1"),
    ],
)
def test_a_wrong_wish_is_one_sentence(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        RunFolder(tmp_path).write_control(**change)
    assert not (tmp_path / "control.json").exists()


def test_the_file_is_read_when_it_changed_and_not_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, reads = [0.0], []
    monkeypatch.setattr(control_module, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    run = RunFolder(tmp_path)

    def read() -> Control:
        reads.append(now[0])
        return run.control()

    steering = ControlFile(tmp_path / "control.json", read)
    assert reads == []  # there is no file
    run.write_control(command="pause")
    assert steering.look().command == "run"
    now[0] = 0.11
    assert steering.look().command == "pause"
    now[0] = 0.5
    assert steering.look().command == "pause"
    assert reads == [0.11]
    assert not steering.wants_save()
    run.write_control(save=1)
    now[0] = 0.7
    steering.look()
    assert [steering.wants_save(), steering.wants_save()] == [True, False]


def test_stop_ends_the_step_and_saves(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(report=at(7, lambda: trainer.run.write_control(command="stop")))
    assert trainer.train() == "cancelled"
    assert trainer.run.state()["reason"] == "stopped after step 7"
    assert make_trainer().progress.step == 7


def test_a_pause_changes_nothing_but_the_time(make_trainer: MakeTrainer) -> None:
    """Paused at step 6 until somebody sees it; the steps are those of a run without a pause."""
    whole = make_trainer("whole")
    whole.train()
    seen: dict[str, Any] = {}

    def pause() -> None:
        trainer.run.write_control(command="pause")
        waiting.start()

    def go_on() -> None:
        deadline = time.monotonic() + 20
        while trainer.run.state()["status"] != "paused" and time.monotonic() < deadline:
            time.sleep(0.01)
        began = time.process_time()
        time.sleep(0.4)
        seen["busy"] = time.process_time() - began
        seen["state"] = trainer.run.state()
        seen["steps"] = trainer.run.metrics()[-1]["step"]
        trainer.run.write_control(command="run", save=1)
        seen["again"] = time.monotonic()

    waiting = threading.Thread(target=go_on)
    trainer = make_trainer("paused", report=at(6, pause))
    began = time.monotonic()
    assert trainer.train() == "finished"
    took = time.monotonic() - began
    waiting.join()
    assert (seen["state"]["status"], seen["steps"]) == ("paused", 6)
    assert seen["state"]["reason"] == "paused after step 6"
    assert seen["busy"] < 0.2
    assert trainer.progress.seconds < took - 0.4
    assert losses(trainer.run) == losses(whole.run)
    assert trainer.run.state()["status"] == "finished"


def test_a_stop_ends_a_pause(make_trainer: MakeTrainer) -> None:
    def pause() -> None:
        trainer.run.write_control(command="pause")
        threading.Timer(0.2, lambda: trainer.run.write_control(command="stop")).start()

    trainer = make_trainer(report=at(3, pause))
    assert trainer.train() == "cancelled"
    assert make_trainer().progress.step == 3


def test_a_run_killed_in_a_pause_goes_on_from_there(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_trainer("whole")
    whole.train()
    trainer = make_trainer(report=at(3, lambda: trainer.run.write_control(command="pause")))
    with monkeypatch.context() as patch:
        patch.setattr("transformer.training.run_control.time.sleep", kill)
        with pytest.raises(KilledError):
            trainer.train()
    trainer.run.write_control(command="run")
    again = make_trainer()
    assert again.progress.step == 3
    again.train()
    assert losses(again.run) == losses(whole.run)


def test_a_counter_that_grows_saves_at_once(make_trainer: MakeTrainer) -> None:
    saved: list[bool] = []

    def ask(line: dict[str, Any]) -> None:
        if line["step"] == 2:
            trainer.run.write_control(save=5)
        if line["step"] == 3:
            saved.append((trainer.run.checkpoint_path / "model.safetensors").is_file())
            saved.append((trainer.run.path / "weights" / "00000002.safetensors").is_file())

    trainer = make_trainer(report=ask, average=9)
    trainer.train()
    assert saved == [True, True]
    weights = sorted(path.stem for path in (trainer.run.path / "weights").iterdir())
    assert weights == ["00000002", "00000005", "00000010", "00000012"]  # and only once


def test_the_rate_is_the_schedules_times_the_factor(make_trainer: MakeTrainer) -> None:
    whole = make_trainer("whole")
    whole.train()

    trainer = make_trainer(
        "other", report=at(5, lambda: trainer.run.write_control(learning_rate_factor=0.25))
    )
    trainer.train()
    steps = [[line for line in t.run.metrics() if "loss" in line] for t in (whole, trainer)]
    factors = [line["learning_rate_factor"] for line in steps[1]]
    assert factors == [1.0] * 5 + [0.25] * 7
    for before, line, factor in zip(*steps, factors, strict=True):
        assert line["learning_rate"] == pytest.approx(before["learning_rate"] * factor)
    assert [line["loss"] for line in steps[0]][:6] == [line["loss"] for line in steps[1]][:6]
    assert steps[0][6]["loss"] != steps[1][6]["loss"]
