"""The real trainer in a real worker: tasks, uploaded pairs, pausing."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.jobs.conftest import MakeJobs, start_workers, wait_until
from transformer.checkpoint import load_checkpoint
from transformer.jobs.jobs import TRAINER
from transformer.training.recipe import make_run_config

SETTINGS = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}


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
