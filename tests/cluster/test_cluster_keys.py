"""TLS in both directions: who has the keys belongs to the cluster, and nobody else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from benchmarks.machines import Machines
from tests.jobs.conftest import STANDIN, asked, until
from transformer.cluster import for_runs
from transformer.cluster.certificates import main
from transformer.jobs import Jobs, Limits, services


def test_a_run_over_tls_and_a_stranger_who_is_not_let_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ours", "theirs"):
        assert main([str(tmp_path / name)]) == 0
    assert stat.S_IMODE((tmp_path / "ours" / "key.pem").stat().st_mode) == 0o600
    assert main([str(tmp_path / "ours")]) == 1  # keys in use are not replaced
    assert "is there already" in capsys.readouterr().err
    machines = Machines(tmp_path, "tls", tmp_path / "ours")
    try:
        machines.scheduler()
        machines.worker()
        with _jobs(machines, tmp_path / "ours") as jobs:
            until(jobs, jobs.submit(asked(), "ann"), "finished")
        with _jobs(machines, tmp_path / "theirs") as jobs:
            jobs.start()
            machines.wait(lambda: "does not answer" in jobs.startup_error())
    finally:
        services.close_all()
        machines.close()


def _jobs(machines: Machines, keys: Path) -> Jobs:
    limits = Limits(executor="dask", scheduler=machines.address, cluster_keys=str(keys), nice=0)
    return Jobs(machines.folder / "runs", limits, executor=for_runs(STANDIN))
