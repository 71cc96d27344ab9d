"""Workers that are forked from a process that has imported PyTorch (Linux)."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from tests import leaks
from tests.jobs.conftest import FAKE_TRAINER, run_config, start_workers, wait_until
from transformer.jobs import Jobs, Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


def fork_servers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children()
        if "transformer.jobs.fork_server" in " ".join(process.cmdline())
    ]


def test_a_worker_starts_with_pytorch_and_its_own_memory_of_it_is_small(tmp_path: Path) -> None:
    """Importing PyTorch in a new process takes at least 100 MB that no other process shares."""
    others = leaks.children()
    with Jobs(tmp_path, Limits(workers=1, nice=0), trainer=FAKE_TRAINER) as jobs:
        start_workers(jobs)
        (worker,) = leaks.children() - others
        assert "libtorch" in {Path(file.path).name[:8] for file in worker.memory_maps()}
        assert worker.memory_full_info().uss < 60e6


def test_a_killed_fork_server_is_replaced_and_its_workers_go_on(tmp_path: Path) -> None:
    others = leaks.children()
    with Jobs(tmp_path, Limits(workers=1, nice=0), trainer=FAKE_TRAINER) as jobs:
        start_workers(jobs)
        (worker,) = leaks.children() - others
        killed = fork_servers()
        for server in killed:
            server.kill()
        psutil.wait_procs(killed, timeout=30)
        wait_until(jobs, jobs.submit(run_config(steps=2), "ann"), "finished")
        worker.kill()
        wait_until(jobs, jobs.submit(run_config(steps=2), "ann"), "finished")
        assert fork_servers()
