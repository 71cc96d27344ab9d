"""Workers that are forked from a process that has imported PyTorch (Linux)."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from tests import leaks
from tests.jobs.conftest import MakeJobs, run_config, start_workers, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


def fork_servers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children()
        if "transformer.jobs.fork_server" in " ".join(process.cmdline())
    ]


def test_workers_share_pytorch_and_go_on_without_their_fork_server(make_jobs: MakeJobs) -> None:
    """Importing PyTorch in a new process takes at least 100 MB that no other process shares."""
    others = leaks.children()
    jobs = start_workers(make_jobs())
    (worker,) = leaks.children() - others
    assert "libtorch" in {Path(file.path).name[:8] for file in worker.memory_maps()}
    assert worker.memory_full_info().uss < 60e6
    killed = fork_servers()
    for server in killed:
        server.kill()
    psutil.wait_procs(killed, timeout=30)
    wait_until(jobs, jobs.submit(run_config(steps=2), "ann"), "finished")
    worker.kill()
    wait_until(jobs, jobs.submit(run_config(steps=2), "ann"), "finished")
    assert fork_servers()
