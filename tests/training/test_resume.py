"""An interrupted run gives the same result as an uninterrupted one, bit for bit."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conftest import ROOT
from tests.training.conftest import KilledError, MakeTrainer, call_at, kill, losses
from transformer.cli import main
from transformer.training.run_folder import RunError, RunFolder


@pytest.mark.parametrize(
    ("killed_at", "settings"),
    [
        (3, {"precision": "fp32"}),
        (9, {"precision": "bf16"}),
        (9, {"packed_length": 64, "typing_noise": 0.3, "r_drop": 1.0, "batch_tokens": 384}),
    ],
    ids=str,
)
def test_a_killed_run_takes_the_same_steps(
    killed_at: int, settings: dict[str, Any], make_trainer: MakeTrainer
) -> None:
    """The run is killed before or after its first save, and at step 28, in the second epoch."""
    settings = {"steps": 32, "cooldown": 0.5, **settings}
    reference = make_trainer("reference", **settings)
    reference.train()
    with pytest.raises(KilledError):
        make_trainer("killed", report=call_at(killed_at, kill), **settings).train()
    with pytest.raises(KilledError):
        make_trainer("killed", report=call_at(28, kill), **settings).train()
    resumed = make_trainer("killed", **settings)
    assert resumed.loop.step == 25
    resumed.train()
    assert reference.loop.epoch == resumed.loop.epoch == 1
    assert losses(resumed.run) == losses(reference.run)
    for name, weight in reference.learner.model.named_parameters():
        assert torch.equal(resumed.learner.model.get_parameter(name), weight), name
    for file in ("checkpoint/model.safetensors", "weights/00000032.safetensors"):
        assert (resumed.run.path / file).read_bytes() == (reference.run.path / file).read_bytes()
    weights = [sorted(os.listdir(t.run.path / "weights")) for t in (reference, resumed)]
    assert weights[0] == weights[1]


OPTIONS = shlex.split(
    "--preset tiny --d-model 16 --n-layers 1 --n-heads 2 --d-ff 32 --vocab-size 320 --steps 40 "
    "--batch-tokens 400 --warmup 20 --learning-rate 0.01 --valid-every 7 --save-every 5 "
    "--precision fp32 --device cpu"
)


@pytest.mark.slow
def test_same_command_resumes_after_kill_9(pairs_file: Path, tmp_path: Path) -> None:
    """A separate process is killed, and the last line of its metrics is truncated."""
    runs = {name: RunFolder(tmp_path / name) for name in ("reference", "killed")}
    commands = {
        name: ["train", str(pairs_file), "--run-folder", str(run.path), *OPTIONS]
        for name, run in runs.items()
    }
    killed = runs["killed"]
    process = subprocess.Popen(
        [sys.executable, "-m", "transformer", *commands["killed"]], cwd=ROOT, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while len(killed.metrics()) < 9:
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0
    assert killed.state()["status"] == "running"  # it had no time to write a state
    last_step = killed.metrics()[-1]["step"]
    assert last_step < 40
    with killed.metrics_path.open("a") as file:
        file.write(f'{{"step": {last_step + 1}, "loss": 4.')
    assert main(commands["killed"]) == 0
    assert main(commands["reference"]) == 0
    assert losses(killed) == losses(runs["reference"])
    models = [(run.checkpoint_path / "model.safetensors").read_bytes() for run in runs.values()]
    assert models[0] == models[1]


def test_only_the_same_model_and_text_are_resumed(
    pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFolder(tmp_path / "run")
    command = ["train", str(pairs_file), "--run-folder", str(run.path), *OPTIONS]
    assert main([*command, "--steps", "2"]) == 0
    before = run.metrics()
    other_table = tmp_path / "other.tsv"
    other_table.write_bytes(pairs_file.read_bytes())
    for change, message in {
        ("--d-ff", "48"): "was started with d_ff 32, not 48: resume it with the same",
        ("--max-pieces", "99"): "was started with max_pieces 128, not 99",
        ("--valid", str(other_table)): "was started with valid None, not ['",
    }.items():
        capsys.readouterr()
        assert main([*command, *change]) == 1
        assert message in capsys.readouterr().err
    assert main(["train", str(other_table), *command[2:]]) == 1
    assert "was started with train ['" in capsys.readouterr().err
    assert run.metrics() == before
    assert main([*command, "--steps", "3", "--warmup", "5"]) == 0  # settings may change
    assert [line["step"] for line in run.metrics()] == [1, 2, 3]
    assert run.config().to_dict()["training"]["warmup"] == 5


@pytest.mark.parametrize("changed", ["train", "valid", "added", "probes"])
def test_a_changed_file_is_refused(
    changed: str, pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for name in ("train", "valid", "added", "probes"):
        files[name] = tmp_path / f"{name}.tsv"
        files[name].write_bytes(b"".join(pairs_file.read_bytes().splitlines(keepends=True)[:60]))
    run = RunFolder(tmp_path / "run")
    command = ["train", str(files["train"]), "--valid", str(files["valid"])]
    command += ["--add", f"{files['added']}=0.5", "--probes", str(files["probes"])]
    command += ["--run-folder", str(run.path), *OPTIONS]
    assert main([*command, "--steps", "2"]) == 0
    before, content = run.metrics(), files[changed].read_bytes()
    files[changed].write_bytes(content + b"One more.\tEncore un.\n")
    capsys.readouterr()
    assert main([*command, "--steps", "3"]) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    if changed == "probes":  # part of config.json
        assert f"{run.path} was started with probes [(" in error
        assert "resume it with the same settings, or use another run folder" in error
    else:
        assert f"{files[changed]} has changed since {run.path} was started with it" in error
        assert "restore the file, or use another run folder" in error
    assert run.metrics() == before
    files[changed].write_bytes(content)
    if changed in ("train", "added"):
        files[changed].unlink()  # it is encoded in the run folder
    assert main([*command, "--steps", "3"]) == 0


def test_text_that_changes_while_it_is_encoded_is_encoded_again(
    pairs_file: Path, tmp_path: Path
) -> None:
    """The first start is killed between the training and the validation pairs."""
    run, table = RunFolder(tmp_path / "run"), tmp_path / "table.tsv"
    table.write_bytes(pairs_file.read_bytes())
    command = ["train", str(table), "--run-folder", str(run.path), *OPTIONS, "--steps", "1"]
    assert main(command) == 0
    n_before = run.text_path("train").stat().st_size
    run.text_path("valid").unlink()
    run.resume_path.unlink()
    shutil.rmtree(run.checkpoint_path)
    table.write_bytes(b"".join(pairs_file.read_bytes().splitlines(keepends=True)[:150]))
    assert main(command) == 0
    assert run.text_path("train").stat().st_size < n_before


@pytest.mark.parametrize(
    ("modify", "message"),
    [
        (
            lambda tensors: tensors.pop("adam.exp_avg.embedding.weight"),
            r"exp_avg\S+ it has nothing",
        ),
        (
            lambda tensors: tensors.update(
                {"weight.embedding.weight": torch.zeros(5, 16, device="cpu")}
            ),
            r"it has shape \(5, 16\), the model needs \(320, 16\)",
        ),
    ],
)
def test_resume_file_of_another_model_is_refused(
    modify: Any, message: str, make_trainer: MakeTrainer
) -> None:
    trainer = make_trainer(steps=1)
    trainer.train()
    tensors = {k: v.clone() for k, v in load_file(trainer.run.resume_path).items()}
    modify(tensors)
    save_file(tensors, trainer.run.resume_path, {"progress": '{"step": 1}'})
    with pytest.raises(RunError, match=rf"resume\.safetensors cannot be resumed .*{message}"):
        make_trainer(steps=2).train()
    assert trainer.run.state()["status"] == "failed"


@pytest.mark.parametrize("size", [0, 500, 5000])
def test_truncated_resume_file_is_refused(size: int, make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1)
    trainer.train()
    os.truncate(trainer.run.resume_path, size)
    with pytest.raises(RunError, match="cannot be resumed from: it is truncated or not a resume"):
        make_trainer(steps=2)
