"""The real trainer in a real worker: from the click to a model that translates."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tests.jobs.conftest import MakeJobs, until, warm
from transformer.checkpoint import load_checkpoint
from transformer.jobs.jobs import TRAINER
from transformer.training.recipe import describe

SMALL = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}


def test_tasks_and_pairs_of_one_s_own_in_a_real_worker(make_jobs: MakeJobs, tmp_path: Path) -> None:
    jobs = warm(make_jobs(TRAINER))
    options = {"n_train": 400, "n_valid": 20}
    config = describe("copy", settings={**SMALL, "steps": 200}, options=options, title="Copy")
    name = jobs.submit(config, "ann")
    until(jobs, name, lambda info: info.step >= 20)
    jobs.control(name, "ann", command="pause")
    step = until(jobs, name, lambda info: info.status == "paused" and not info.asked).step
    assert step >= 20
    other = jobs.submit(describe("copy", settings={**SMALL, "steps": 5}, options=options), "bob")
    until(jobs, other, "finished")  # the paused run keeps nobody waiting
    assert jobs.run(name).status == "paused"
    jobs.resume(name, "ann")
    assert until(jobs, name, "finished").step == 200
    losses = [line["step"] for line in jobs.folder(name).metrics() if "loss" in line]
    assert losses == [*range(1, 201)]
    with zipfile.ZipFile(io.BytesIO(jobs.archive(name))) as packed:
        packed.extractall(tmp_path / "home")
    model, _ = load_checkpoint(tmp_path / "home" / name / "checkpoint")
    assert model.config.d_model == 16

    settings = {**SMALL, "steps": 3, "vocab_size": 300}
    pairs = "".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(40)).encode()
    good = jobs.submit(describe(settings=settings), "ann", {"pairs.tsv": pairs})
    bad = jobs.submit(describe(settings=settings), "bob", {"pairs.tsv": b"no tab here\n"})
    info = until(jobs, good, lambda info: info.status in ("finished", "failed"))
    assert info.status == "finished", info.reason
    assert "line 1" in until(jobs, bad, "failed").reason
