"""Runs trained on a cluster: files are sent as messages, and nothing is lost."""

from __future__ import annotations

import asyncio
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.cluster import DaskCluster
from tests.jobs.conftest import FAKE_TRAINER, run_config, start_workers, wait_until
from transformer.checkpoint import load_checkpoint
from transformer.cluster import for_runs
from transformer.cluster.certificates import main
from transformer.cluster.connection import Connection
from transformer.cluster.runs import ClusterRuns
from transformer.jobs import Jobs, Limits, claims, services
from transformer.jobs.jobs import TRAINER
from transformer.jobs.queue import Queue
from transformer.jobs.shares import Requester
from transformer.training.recipe import make_run_config

SMALL = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}


def cluster_jobs(machines: DaskCluster, trainer: str = FAKE_TRAINER, keys: str = "") -> Jobs:
    limits = Limits(executor="dask", scheduler=machines.address, cluster_keys=keys, nice=0)
    return Jobs(machines.folder / "runs", limits, executor=for_runs(trainer))


@pytest.mark.slow
def test_eight_runs_survive_a_killed_worker_and_scheduler(
    machines: DaskCluster,
) -> None:
    killed_worker = machines.start_worker()
    machines.start_worker()
    with cluster_jobs(machines) as jobs:
        start_workers(jobs, 2)
        names = [jobs.submit(run_config(20, 0.05), f"visitor {n}") for n in range(8)]
        first = names[:2]
        for name in first:  # each run has saved, and the app has received its save
            machines.wait(lambda name=name: jobs.folder(name).saved_step() >= 5)
        killed_worker.kill()
        for name in first:
            wait_until(jobs, name, "finished")
        assert sum(jobs.folder(name).job().get("losses", 0) for name in first) == 1

        machines.processes[0].kill()
        machines.wait(lambda: "does not answer" in jobs.startup_error())
        assert {info.status for info in jobs.runs()} == {"finished", "queued"}
        machines.start_scheduler()
        machines.start_worker(capacity=2)
        for name in names:
            wait_until(jobs, name, "finished")
            folder = jobs.folder(name)
            assert [line["step"] for line in folder.metrics()] == [*range(1, 21)]
            # Interrupted runs continued from their save on another machine.
            starts = (folder.path / "starts.txt").read_text().split()
            assert len({*starts}) == len(starts) >= 1 + folder.job().get("losses", 0)


@pytest.mark.slow
def test_a_run_is_paused_resumed_stopped_and_deleted(shared_machines: DaskCluster) -> None:
    with cluster_jobs(shared_machines) as jobs:
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
        shared_machines.wait(lambda: not (shared_machines.folder / "runs" / other_run).exists())
        visits = shared_machines.folder / "scratch"
        shared_machines.wait(lambda: not [*visits.glob("*/*/heads-up/runs/*/config.json")])


def test_runs_are_saved_when_the_app_ends(shared_machines: DaskCluster) -> None:
    with cluster_jobs(shared_machines) as jobs:
        start_workers(jobs)
        name = jobs.submit(run_config(400, 0.02), "ann")
        wait_until(jobs, name, lambda info: info.step >= 7)
    with cluster_jobs(shared_machines) as jobs:
        info = jobs.run(name)
        assert info.status == "queued"
        assert jobs.folder(name).saved_step() >= 7


@pytest.mark.slow
def test_a_trained_run_has_all_files_that_pages_show(shared_machines: DaskCluster) -> None:
    with cluster_jobs(shared_machines, TRAINER) as jobs:
        start_workers(jobs)
        config = make_run_config(
            "copy", settings={**SMALL, "steps": 60}, options={"n_train": 400, "n_valid": 20}
        )
        name = jobs.submit(config, "ann")
        bad = jobs.submit(
            make_run_config(settings={**SMALL, "steps": 3, "vocab_size": 300}),
            "bob",
            {"pairs.tsv": b"no tab here\n"},
        )
        wait_until(jobs, name, "finished")
        folder = jobs.folder(name)
        assert [line["step"] for line in folder.metrics() if "loss" in line] == [*range(1, 61)]
        assert folder.snapshots()
        assert folder.labels()
        model, _ = load_checkpoint(folder.checkpoint_path)
        assert model.config.d_model == 16
        assert jobs.archive(name)
        assert "line 1" in wait_until(jobs, bad, "failed").reason


@pytest.mark.slow
def test_without_a_scheduler_or_worker_runs_wait_with_a_reason(tmp_path: Path) -> None:
    machines = DaskCluster(tmp_path)
    with cluster_jobs(machines) as jobs:
        name = jobs.submit(run_config(), "ann")
        machines.wait(lambda: "does not answer" in jobs.startup_error())
        assert jobs.run(name).status == "queued"
        machines.start_scheduler()
        try:
            machines.wait(lambda: "--resources" in jobs.startup_error())
            machines.start_worker()
            wait_until(jobs, name, "finished")
            assert jobs.startup_error() == ""
        finally:
            machines.close()


def test_a_run_is_returned_if_its_slot_is_lost_before_it_starts(
    tmp_path: Path,
) -> None:
    """Regression: if the app ended together with a run, the run's lock was not released."""
    queue, limits = Queue(tmp_path), Limits()
    queue.add([run_config()], Requester("ann"), {}, limits)
    claim = claims.claim_next_run(queue, "a visit")
    assert claim
    connection, gate = Connection("tcp://127.0.0.1:1"), threading.Event()
    runs = ClusterRuns(queue, limits, connection, FAKE_TRAINER)

    async def give_back_while_every_thread_is_busy() -> None:
        threads = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(threads)
        threads.submit(gate.wait)
        giving = asyncio.create_task(runs._release(claim, None, interrupted=True))
        await asyncio.sleep(0.05)
        giving.cancel()
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.wait([giving])
        threads.shutdown()

    connection.submit(give_back_while_every_thread_is_busy()).result(60)
    connection.close()
    assert claim.lock.closed
    assert [info.status for info in queue.infos()] == ["queued"]


def test_tls_runs_work_and_strangers_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ours", "theirs"):
        assert main([str(tmp_path / name)]) == 0
    assert stat.S_IMODE((tmp_path / "ours" / "key.pem").stat().st_mode) == 0o600
    assert main([str(tmp_path / "ours")]) == 1  # keys in use are not replaced
    assert "already exists" in capsys.readouterr().err
    machines = DaskCluster(tmp_path, "tls", tmp_path / "ours")
    try:
        machines.start_scheduler()
        machines.start_worker()
        with cluster_jobs(machines, keys=str(tmp_path / "ours")) as jobs:
            wait_until(jobs, jobs.submit(run_config(), "ann"), "finished")
        with cluster_jobs(machines, keys=str(tmp_path / "theirs")) as jobs:
            jobs.start()
            machines.wait(lambda: "does not answer" in jobs.startup_error())
    finally:
        services.close_all()
        machines.close()
