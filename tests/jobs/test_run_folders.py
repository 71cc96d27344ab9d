"""The folder of runs: valid names, full disks, killed apps."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import corrupt_json
from tests.jobs.conftest import MakeIdleJobs, queue_positions, run_config, submit_run
from transformer.jobs import JobError
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import read_run_info
from transformer.training.run_config import FilesRun, PairsRun

HOSTILE_NAMES = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "x\0y",
    "é",
    "a" * 101,
    "-rf",
    ".lock",
    "a\n",
    "~",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_gives_access_outside_the_folder(
    name: str, make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    jobs = make_idle_jobs()
    outside = tmp_path / "x"
    outside.mkdir()
    (outside / "config.json").write_text('{"owner": "ann"}')
    for action in (jobs.run, jobs.folder, jobs.archive):
        with pytest.raises(JobError, match="there is no run"):
            action(name)
    for change in (jobs.delete, jobs.resume, jobs.control):
        with pytest.raises(JobError, match="there is no run"):
            change(name, "ann")
    assert (outside / "config.json").is_file()
    assert jobs.runs() == []


def test_a_symlink_out_of_the_folder_is_not_a_run(
    make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    jobs = make_idle_jobs()
    name = submit_run(jobs, "mine", "ann")
    target = tmp_path / "target"
    (tmp_path / "runs" / name).rename(target)
    (tmp_path / "runs" / name).symlink_to(target)
    with pytest.raises(JobError, match="there is no run"):
        jobs.delete(name, "ann")
    assert (target / "config.json").is_file()


PAIRS = b"a\tb\n"


def run_on_pairs() -> PairsRun:
    return PairsRun(pairs="pairs.tsv", model=run_config().model, training=run_config().training)


def test_a_run_reads_only_its_own_files(make_idle_jobs: MakeIdleJobs) -> None:
    model_and_training = {"model": run_config().model, "training": run_config().training}
    for file, pairs in (("/etc/passwd", PAIRS), ("other.tsv", PAIRS), ("pairs.tsv", b"")):
        with pytest.raises(JobError, match=f"'{file}' is missing"):
            make_idle_jobs().submit(PairsRun(pairs=file, **model_and_training), "ann", pairs)
    with pytest.raises(JobError, match="cannot read the server's files"):
        make_idle_jobs().submit(FilesRun(train=("/etc/passwd",), **model_and_training), "ann")


@pytest.mark.parametrize("max_bytes", [0, 10_000])
def test_a_full_disk_leaves_no_partial_run(
    max_bytes: int, make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    """No file may be larger: none of the run's files can be written, or all except the pairs."""
    resource = pytest.importorskip("resource")
    jobs = make_idle_jobs()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
    try:
        with pytest.raises(JobError, match="the run could not be written: File too large"):
            jobs.submit(run_on_pairs(), "ann", PAIRS * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path / "runs") == [".lock"]
    submit_run(jobs, "again", "ann")
    assert queue_positions(jobs) == {"again": 1}


def test_partial_runs_of_a_killed_app_are_removed(
    make_idle_jobs: MakeIdleJobs, tmp_path: Path
) -> None:
    make_idle_jobs()
    for name in (".coming-run-1", ".going-2"):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "config.json").write_text("{}")
    assert make_idle_jobs().runs() == []
    assert os.listdir(tmp_path / "runs") == [".lock"]


def test_an_archive_has_the_checkpoint_and_not_the_owner(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs()
    name = submit_run(jobs, "mine", "ann-s-secret")
    with pytest.raises(JobError, match="has no checkpoint yet"):
        jobs.archive(name)
    folder = jobs.folder(name)
    folder.append_metrics({"step": 1, "loss": 2.0})
    folder.resume_path.write_bytes(b"optimizer state")
    folder.checkpoint_path.mkdir()
    (folder.checkpoint_path / "config.json").write_bytes(b"{}")
    (folder.checkpoint_path / "model.safetensors").write_bytes(bytes(range(256)))
    with zipfile.ZipFile(io.BytesIO(jobs.archive(name))) as archive:
        contents = {path: archive.read(path) for path in archive.namelist()}
    files = ("config.json", "metrics.jsonl", "checkpoint/config.json")
    assert set(contents) == {f"{name}/{file}" for file in (*files, "checkpoint/model.safetensors")}
    assert contents[f"{name}/checkpoint/model.safetensors"] == bytes(range(256))
    assert json.loads(contents[f"{name}/config.json"])["title"] == "mine"
    assert b"secret" not in b"".join(contents.values())


METRICS = {"step": 3, "loss": 1.0, "share": 0.1, "seconds": 0.1, "tokens": 9}
FILES: dict[str, dict[str, Any]] = {
    "config.json": {**run_config(title="A run").to_dict(), "owner": "me", "created": 1.0},
    "state.json": {"status": "running", "reason": "", "step": 3, "seconds": 1.0},
    "job.json": {"turn": 1, "worker": "w", "address": "a", "shared": True},
    "control.json": {"command": "run", "learning_rate_factor": 1.0, "save": 0},
    "metrics.jsonl": METRICS,
}


@given(data=st.data(), corrupt=st.sampled_from(sorted(FILES)))
def test_a_run_with_a_corrupt_file_is_listed(
    data: st.DataObject, corrupt: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = JobFolder(tmp_path_factory.mktemp("runs") / "run")
    run.path.mkdir()
    for name, values in FILES.items():
        text = data.draw(corrupt_json(values)) if name == corrupt else json.dumps(values)
        before = f"{json.dumps(METRICS)}\n" if name == "metrics.jsonl" else ""
        (run.path / name).write_text(f"{before}{text}\n", encoding="utf-8")
    info = read_run_info(run)
    assert info is None or (isinstance(info.title, str) and isinstance(info.step, int))
