"""A scheduler and workers of Dask as processes of this machine, as an operator starts them."""

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

from transformer.house import CODE

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
                env={**os.environ, "PYTHONPATH": str(CODE), "OMP_NUM_THREADS": "1"},
            )
        self.started.append(process)
        return process


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
