"""A translation engine in a separate process, which works on request and reports its time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class EngineProcess:
    """A process that runs `benchmarks.decoding.serve` with this many threads."""

    def __init__(self, engine: str, checkpoint: Path, threads: int) -> None:
        arguments = ["--serve", engine, "--checkpoint", str(checkpoint), "--threads", str(threads)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.decoding", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )
        assert self.process.stdin
        assert self.process.stdout
        self.requests, self.answers = self.process.stdin, self.process.stdout
        if self.answers.readline().strip() != "ready":
            raise SystemExit(f"{engine} did not start")

    def time(self, group: str, name: str) -> float:
        """Run this workload and return its seconds."""
        print(f"{group}|{name}", file=self.requests, flush=True)
        return float(self.answers.readline())

    def close(self) -> None:
        self.requests.close()
        self.process.wait()
