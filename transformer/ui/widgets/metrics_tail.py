"""Metrics of a run during training: only new lines are read, once for all sessions."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from transformer.api.sized_cache import SizedCache
from transformer.training.run_folder import RunFolder, parse_metrics

MAX_LINES = 20_000
"""Maximum lines of steps of a run in memory; beyond it every second one is dropped."""
MAX_BYTES = 48_000_000
"""Maximum bytes of all lines in memory; one takes about `LINE_BYTES`."""
LINE_BYTES = 1000
SPEED_STEPS = 20
"""Number of last steps over which tokens per second are measured."""


class MetricsTail:
    """A growing metrics.jsonl file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._inode, self._n_bytes_read, self._stride, self._n_losses = 0, 0, 1, 0

    def update(self) -> list[dict[str, Any]]:
        """Return all complete lines; read all again if the file was replaced or truncated."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    stat = os.fstat(file.fileno())
                    if stat.st_ino != self._inode or stat.st_size < self._n_bytes_read:
                        self._inode, self._n_bytes_read, self._stride, self._n_losses = (
                            stat.st_ino,
                            0,
                            1,
                            0,
                        )
                        self.lines = []
                    file.seek(self._n_bytes_read)
                    new_bytes = file.read()
            except OSError:
                return []
            complete_lines = new_bytes[: new_bytes.rfind(b"\n") + 1]
            self._n_bytes_read += len(complete_lines)
            for line in parse_metrics(complete_lines):
                self._append(line)
            return list(self.lines)

    def _append(self, line: dict[str, Any]) -> None:
        if "loss" in line:
            self._n_losses += 1
            if self._n_losses % self._stride:
                return
        self.lines.append(line)
        if len(self.lines) > MAX_LINES:
            self._stride *= 2
            self.lines = [x for n, x in enumerate(self.lines) if n % 2 or "loss" not in x]


_tails: SizedCache[MetricsTail] = SizedCache(MAX_BYTES, lambda tail: LINE_BYTES * len(tail.lines))


def metrics(run: RunFolder) -> list[dict[str, Any]]:
    """Return lines of the run's metrics.jsonl, thinned out for long runs; do not change them."""
    tail = _tails.get_or_make(run.metrics_path, lambda: MetricsTail(run.metrics_path))
    lines = tail.update()
    _tails.put(run.metrics_path, tail)  # its size has changed
    return lines


def newest(lines: list[dict[str, Any]], name: str) -> Any:
    """Return the last value of a metric; None if there is none."""
    return next((line[name] for line in reversed(lines) if name in line), None)


def speed(lines: list[dict[str, Any]]) -> float | None:
    """Return tokens per second over the last steps."""
    last = [line for line in lines[-4 * SPEED_STEPS :] if "tokens" in line and "seconds" in line][
        -SPEED_STEPS:
    ]
    seconds = sum(line["seconds"] for line in last)
    return sum(line["tokens"] for line in last) / seconds if seconds else None
