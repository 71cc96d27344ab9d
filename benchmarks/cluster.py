"""Training with Dask workers on this machine, compared with the app's own processes.

    python -m benchmarks.cluster [--runs 8] [--workers 1 2 4]

For each number of workers, the same runs are queued at once and trained by as many processes of the
app, then by as many Dask workers, each with one thread and one run at a time. Prints the runs per
minute, from the first submission to the last finished model, and the time of the first metrics.
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
_TIMEOUT_SECONDS = 180.0


class DaskCluster:
    """Starts a Dask scheduler and workers; `close` kills all of them."""

    def __init__(self, folder: Path, scheme: str = "tcp", keys: Path | None = None) -> None:
        self.folder, self.scheme, self.keys = folder, scheme, keys
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        arguments = ["--host", self.address.rpartition(":")[0], "--port", str(self.port)]
        process = self._start("scheduler", *arguments, "--no-dashboard", "--no-show")
        self.wait(self._is_listening)
        return process

    def start_worker(self, capacity: int = 1) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny, so that killing the process kills the worker."""
        host = self.address.rpartition(":")[0]
        resources = ["--nthreads", "1", "--resources", f"run={capacity}", "--no-nanny"]
        scratch = ["--local-directory", str(self.folder / "scratch")]
        return self._start(
            "worker", self.address, "--host", host, "--no-dashboard", *resources, *scratch
        )

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def log(self) -> str:
        return (self.folder / "dask.log").read_text("utf-8", "replace")[-4000:]

    def close(self) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _is_listening(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        keys = []
        if self.keys is not None:
            for option, name in (("ca-file", "ca"), ("cert", "cert"), ("key", "key")):
                keys += [f"--tls-{option}", str(self.keys / f"{name}.pem")]
        with (self.folder / "dask.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + command, *arguments, *keys],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(IMPORT_ROOT), "OMP_NUM_THREADS": "1"},
            )
        self.processes.append(process)
        return process


def free_port() -> int:
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        port: int = probe_socket.getsockname()[1]
        return port


def measure(jobs: Jobs, workers: int, runs: int) -> tuple[float, float]:
    """Return the seconds until the first metrics arrive, and until all models are finished."""
    jobs.start()
    while jobs.warm_workers() < workers:
        time.sleep(0.05)
    time.sleep(8)  # a worker may report ready while its process is still starting
    start = time.perf_counter()
    for number in range(runs):
        jobs.submit(make_run_config("reverse", settings={"steps": STEPS, "seed": number}), "ann")
    first_metrics = 0.0
    while True:
        run_infos = jobs.runs()
        elapsed = time.perf_counter() - start
        if not first_metrics and any(info.step for info in run_infos):
            first_metrics = elapsed
        if any(info.status in ("failed", "cancelled") for info in run_infos):
            raise RuntimeError(next(info.reason for info in run_infos if info.status != "finished"))
        if all(info.status == "finished" for info in run_infos):
            return first_metrics, elapsed
        time.sleep(0.05)


def measure_processes(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, Jobs(folder, Limits(workers=workers)) as jobs:
        return measure(jobs, workers, runs)


def measure_dask(workers: int, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = DaskCluster(Path(folder))
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.start_worker()
        limits = Limits(executor="dask", scheduler=cluster.address)
        try:
            with Jobs(Path(folder) / "runs", limits, executor=for_runs(TRAINER)) as jobs:
                return measure(jobs, workers, runs)
        finally:
            services.close_all()
            cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    print(f"{cores()} cores; {options.runs} runs of {STEPS} steps of the task reverse")
    first_row_seconds = 0.0
    for workers in options.workers:
        for name, run in (("the app's own", measure_processes), ("with Dask", measure_dask)):
            first_metrics_seconds, total_seconds = run(workers, options.runs)
            first_row_seconds = first_row_seconds or total_seconds
            print(
                f"{workers} {name:<14} first metrics after {first_metrics_seconds:4.1f} s, "
                f"{60 * options.runs / total_seconds:5.1f} runs/minute, "
                f"{first_row_seconds / total_seconds:.2f} × the first row"
            )


if __name__ == "__main__":
    main()
