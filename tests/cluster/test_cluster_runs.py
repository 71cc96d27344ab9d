"""Runs trained on a cluster: all files are copied back, even if workers or the scheduler end."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.dask_cluster import DaskCluster
from tests.jobs.conftest import FAKE_TRAINER, run_config, start_workers, wait_until
from transformer.app_folders import IMPORT_ROOT
from transformer.checkpoint import load_checkpoint
from transformer.cluster import cluster_executor
from transformer.jobs import Jobs, Limits
from transformer.jobs.jobs import TRAINER
from transformer.training.recipe import make_run_config

SETTINGS = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}


def cluster_limits(scheduler: str, keys: str = "") -> Limits:
    return Limits(executor="dask", scheduler=scheduler, cluster_keys=keys, nice=0)


def cluster_jobs(cluster: DaskCluster, trainer: str = FAKE_TRAINER, keys: str = "") -> Jobs:
    limits = cluster_limits(cluster.address, keys)
    return Jobs(cluster.folder / "runs", limits, trainer=trainer, executor=cluster_executor(limits))


@pytest.mark.slow
def test_eight_runs_survive_a_killed_worker_and_scheduler(
    cluster: DaskCluster,
) -> None:
    killed_worker = cluster.start_worker()
    cluster.start_worker()
    with cluster_jobs(cluster) as jobs:
        start_workers(jobs, 2)
        # The first two run while a worker is killed.
        steps = [100 if n < 2 else 20 for n in range(8)]
        names = [jobs.submit(run_config(steps[n], 0.05), f"visitor {n}") for n in range(8)]
        first_names = names[:2]
        for name in first_names:  # each run has saved, and the app has received its save
            cluster.wait(lambda name=name: jobs.folder(name).saved_step() >= 5)
        killed_worker.kill()
        for name in first_names:
            wait_until(jobs, name, "finished")
        assert sum(jobs.folder(name).job().get("losses", 0) for name in first_names) == 1

        cluster.processes[0].kill()
        cluster.wait(lambda: "does not answer" in jobs.startup_error())
        assert {info.status for info in jobs.runs()} == {"finished", "queued"}
        cluster.start_scheduler()
        cluster.start_worker(capacity=2)
        for name, count in zip(names, steps, strict=True):
            wait_until(jobs, name, "finished")
            folder = jobs.folder(name)
            assert [line["step"] for line in folder.metrics()] == [*range(1, count + 1)]
            # Interrupted runs continued from their save on another machine.
            starts = (folder.path / "starts.txt").read_text().split()
            assert len({*starts}) == len(starts) >= 1 + folder.job().get("losses", 0)


@pytest.mark.slow
def test_a_run_is_paused_resumed_stopped_and_deleted(shared_cluster: DaskCluster) -> None:
    with cluster_jobs(shared_cluster) as jobs:
        start_workers(jobs)
        name = jobs.submit(run_config(400, 0.02), "ann")
        wait_until(jobs, name, lambda info: info.step >= 10)
        jobs.control(name, "ann", command="pause")
        step = wait_until(jobs, name, "paused").step
        assert jobs.folder(name).saved_step() == step >= 10
        jobs.resume(name, "ann")
        wait_until(jobs, name, lambda info: info.step > step)
        jobs.control(name, "ann", command="stop")
        wait_until(jobs, name, "cancelled")
        other_run = jobs.submit(run_config(400, 0.02), "ann")
        wait_until(jobs, other_run, "running")
        jobs.delete(other_run, "ann")
        shared_cluster.wait(lambda: not (shared_cluster.folder / "runs" / other_run).exists())
        worker_folders = shared_cluster.folder / "scratch"
        shared_cluster.wait(lambda: not [*worker_folders.glob("*/*/heads-up/*/*/config.json")])


def test_runs_are_saved_when_the_app_ends(shared_cluster: DaskCluster) -> None:
    with cluster_jobs(shared_cluster) as jobs:
        start_workers(jobs)
        name = jobs.submit(run_config(400, 0.02), "ann")
        wait_until(jobs, name, lambda info: info.step >= 7)
    with cluster_jobs(shared_cluster) as jobs:
        info = jobs.run(name)
        assert info.status == "queued"
        assert jobs.folder(name).saved_step() >= 7


APP = """
import sys, time
from tests.cluster.test_cluster_runs import cluster_limits, run_config
from transformer.cluster import cluster_executor
from transformer.jobs import Jobs
limits = cluster_limits(sys.argv[2])
executor = cluster_executor(limits)
jobs = Jobs(sys.argv[1], limits, trainer="tests.jobs.fake_trainer:train", executor=executor)
print(jobs.submit(run_config(4000, 0.02), "ann"), flush=True)
time.sleep(600)
"""


def test_workers_stop_the_runs_of_a_killed_app(shared_cluster: DaskCluster) -> None:
    folder = shared_cluster.folder
    on_worker = folder / "scratch"
    arguments = [sys.executable, "-c", APP, str(folder / "killed"), shared_cluster.address]
    with subprocess.Popen(arguments, cwd=IMPORT_ROOT) as app:
        shared_cluster.wait(lambda: bool([*on_worker.glob("*/*/heads-up/*/*/metrics.jsonl")]))
        app.kill()
    shared_cluster.wait(lambda: not [*on_worker.glob("*/*/heads-up/*/*/config.json")])


@pytest.mark.slow
def test_a_trained_run_has_all_files_that_pages_show(shared_cluster: DaskCluster) -> None:
    with cluster_jobs(shared_cluster, TRAINER) as jobs:
        start_workers(jobs)
        config = make_run_config(
            "copy", settings={**SETTINGS, "steps": 60}, options={"n_train": 400, "n_valid": 20}
        )
        name = jobs.submit(config, "ann")
        invalid_run = jobs.submit(
            make_run_config(settings={**SETTINGS, "steps": 3, "vocab_size": 300}),
            "bob",
            b"no tab here\n",
        )
        wait_until(jobs, name, "finished")
        folder = jobs.folder(name)
        assert [line["step"] for line in folder.metrics() if "loss" in line] == [*range(1, 61)]
        assert folder.snapshots()
        assert folder.labels()
        model, _ = load_checkpoint(folder.checkpoint_path)
        assert model.config.d_model == 16
        assert jobs.archive(name)
        assert "line 1" in wait_until(jobs, invalid_run, "failed").reason


@pytest.mark.slow
def test_without_a_scheduler_or_worker_runs_wait_with_a_reason(tmp_path: Path) -> None:
    cluster = DaskCluster(tmp_path)
    with cluster_jobs(cluster) as jobs:
        name = jobs.submit(run_config(), "ann")
        cluster.wait(lambda: "does not answer" in jobs.startup_error())
        assert jobs.run(name).status == "queued"
        cluster.start_scheduler()
        try:
            cluster.wait(lambda: "--resources" in jobs.startup_error())
            cluster.start_worker()
            wait_until(jobs, name, "finished")
            assert jobs.startup_error() == ""
        finally:
            cluster.close()


def make_keys(folder: Path) -> int:
    """Run the command of docs/cluster.md that creates the keys."""
    lines = (IMPORT_ROOT / "docs" / "cluster.md").read_text("utf-8").splitlines()
    [command] = [line for line in lines if line.startswith("mkdir keys")]
    return subprocess.run(command, shell=True, cwd=folder, stderr=subprocess.DEVNULL).returncode


def test_a_tls_cluster_accepts_its_own_keys_only(tmp_path: Path) -> None:
    assert make_keys(tmp_path) == 0
    assert stat.S_IMODE((tmp_path / "keys" / "key.pem").stat().st_mode) == 0o600
    assert make_keys(tmp_path) != 0  # keys in use are not replaced
    (tmp_path / "other").mkdir()
    assert make_keys(tmp_path / "other") == 0
    cluster = DaskCluster(tmp_path, "tls", tmp_path / "keys")
    try:
        cluster.start_scheduler()
        cluster.start_worker()
        with cluster_jobs(cluster, keys=str(tmp_path / "keys")) as jobs:
            wait_until(jobs, jobs.submit(run_config(), "ann"), "finished")
        with cluster_jobs(cluster, keys=str(tmp_path / "other" / "keys")) as jobs:
            jobs.start()
            cluster.wait(lambda: "does not answer" in jobs.startup_error())
    finally:
        cluster.close()
