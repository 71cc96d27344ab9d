"""Training on a cluster of this machine's own processes beside the app's own workers.

    python -m benchmarks.cluster [--runs 8] [--workers 1 2 4]

The same runs, all put in line at once: trained by the app's own processes, and by as many workers
of Dask, each with one place and one thread, over the loopback; one number after the other. Printed
are runs a minute, from the first press to the last model at home, and the first line of metrics.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from transformer.app_folders import IMPORT_ROOT
from transformer.cluster import for_runs
from transformer.jobs import Jobs, Limits, services
from transformer.jobs.jobs import TRAINER
from transformer.jobs.limits import cores
from transformer.training.recipe import make_run_config

STEPS = 150
_PATIENCE = 180.0  # seconds


class Machines:
    """`scheduler()` and `worker()` start one each; what was started is ended at the end."""

    def __init__(self, folder: Path, scheme: str = "tcp", keys: Path | None = None) -> None:
        self.folder, self.scheme, self.keys = folder, scheme, keys
        self.port = free_port()
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def scheduler(self) -> subprocess.Popen[bytes]:
        given = ["--host", self.address.rpartition(":")[0], "--port", str(self.port)]
        process = self._start("scheduler", *given, "--no-dashboard", "--no-show")
        self.wait(self._listens)
        return process

    def worker(self, places: int = 1) -> subprocess.Popen[bytes]:
        """Without a nanny, so that the process that is killed is the one that works."""
        host = self.address.rpartition(":")[0]
        offers = ["--nthreads", "1", "--resources", f"run={places}", "--no-nanny"]
        scratch = ["--local-directory", str(self.folder / "scratch")]
        return self._start(
            "worker", self.address, "--host", host, "--no-dashboard", *offers, *scratch
        )

    def wait(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not true():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def log(self) -> str:
        return (self.folder / "dask.log").read_text("utf-8", "replace")[-4000:]

    def close(self) -> None:
        for process in reversed(self.started):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def _start(self, what: str, *given: str) -> subprocess.Popen[bytes]:
        keys = []
        if self.keys is not None:
            for option, name in (("ca-file", "ca"), ("cert", "cert"), ("key", "key")):
                keys += [f"--tls-{option}", str(self.keys / f"{name}.pem")]
        with (self.folder / "dask.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + what, *given, *keys],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(IMPORT_ROOT), "OMP_NUM_THREADS": "1"},
            )
        self.started.append(process)
        return process


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def measure(jobs: Jobs, workers: int, runs: int) -> tuple[float, float]:
    """Seconds until the first line of metrics is at home, and until all models are."""
    jobs.start()
    while jobs.warm_workers() < workers:
        time.sleep(0.05)
    time.sleep(8)  # a worker that says it is there may still be starting its process
    began = time.perf_counter()
    for number in range(runs):
        jobs.submit(make_run_config("reverse", settings={"steps": STEPS, "seed": number}), "ann")
    first = 0.0
    while True:
        infos = jobs.runs()
        now = time.perf_counter() - began
        if not first and any(info.step for info in infos):
            first = now
        if any(info.status in ("failed", "cancelled") for info in infos):
            raise RuntimeError(next(info.reason for info in infos if info.status != "finished"))
        if all(info.status == "finished" for info in infos):
            return first, now
        time.sleep(0.05)


def embedded(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, Jobs(folder, Limits(workers=workers)) as jobs:
        return measure(jobs, workers, runs)


def over_dask(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(Path(folder))
        machines.scheduler()
        for _ in range(workers):
            machines.worker()
        limits = Limits(executor="dask", scheduler=machines.address)
        try:
            with Jobs(Path(folder) / "runs", limits, executor=for_runs(TRAINER)) as jobs:
                return measure(jobs, workers, runs)
        finally:
            services.close_all()
            machines.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    asked = parser.parse_args()
    print(f"{cores()} cores; {asked.runs} runs of {STEPS} steps of the task reverse")
    slowest = 0.0
    for workers in asked.workers:
        for name, measured in (("the app's own", embedded), ("over Dask", over_dask)):
            first, end = measured(workers, asked.runs)
            slowest = slowest or end
            print(
                f"{workers} {name:<14} first line after {first:4.1f} s, "
                f"{60 * asked.runs / end:5.1f} runs a minute, {slowest / end:.2f} times the first"
            )


if __name__ == "__main__":
    main()
