"""An engine of translation in a process of its own, which works when told to and says how long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class EngineProcess:
    """`serve` in a process of its own, with so many threads."""

    def __init__(self, engine: str, checkpoint: Path, threads: int) -> None:
        given = ["--serve", engine, "--checkpoint", str(checkpoint), "--threads", str(threads)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.decoding", *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )
        assert self.process.stdin
        assert self.process.stdout
        self.asked, self.answers = self.process.stdin, self.process.stdout
        if self.answers.readline().strip() != "ready":
            raise SystemExit(f"{engine} did not start")

    def time(self, group: str, name: str) -> float:
        """Seconds that it takes."""
        print(f"{group}|{name}", file=self.asked, flush=True)
        return float(self.answers.readline())

    def close(self) -> None:
        self.asked.close()
        self.process.wait()
