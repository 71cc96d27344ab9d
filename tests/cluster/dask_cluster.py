"""Dask processes on this machine, which tests start and kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from transformer.app_folders import IMPORT_ROOT

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
