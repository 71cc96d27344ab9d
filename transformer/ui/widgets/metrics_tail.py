"""The figures of a run as they come: only new lines are read, once for all who look."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from transformer.training.run import RunFolder
from transformer.training.snapshots import parse_json_lines
from transformer.ui.services.memory_cache import SizedCache

MAX_LINES = 20_000
"""Lines of steps that are kept of a run; then every second one goes."""
MAX_BYTES = 48_000_000
"""Bytes of all lines that are kept, of which one is about as many as `LINE`."""
LINE_BYTES = 1000
SPEED_STEPS = 20
"""Steps that tokens per second are measured over."""


class MetricsTail:
    """One growing metrics.jsonl."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._inode, self._read, self._every, self._seen = 0, 0, 1, 0

    def update(self) -> list[dict[str, Any]]:
        """All whole lines so far, in order; a run that went back (`rewind`) is read again."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    stat = os.fstat(file.fileno())
                    if stat.st_ino != self._inode or stat.st_size < self._read:
                        self._inode, self._read, self._every, self._seen = stat.st_ino, 0, 1, 0
                        self.lines = []
                    file.seek(self._read)
                    fresh = file.read()
            except OSError:
                return []
            complete_lines = fresh[: fresh.rfind(b"\n") + 1]
            self._read += len(complete_lines)
            for line in parse_json_lines(complete_lines):
                self._take(line)
            return list(self.lines)

    def _take(self, line: dict[str, Any]) -> None:
        if not isinstance(line.get("step"), int):
            return
        if "loss" in line:
            self._seen += 1
            if self._seen % self._every:
                return
        self.lines.append(line)
        if len(self.lines) > MAX_LINES:
            self._every *= 2
            self.lines = [x for n, x in enumerate(self.lines) if n % 2 or "loss" not in x]


_tails: SizedCache[MetricsTail] = SizedCache(MAX_BYTES, lambda tail: LINE_BYTES * len(tail.lines))


def metrics(run: RunFolder) -> list[dict[str, Any]]:
    """Lines of the run's metrics.jsonl, of a long run not all; not to be changed."""
    tail = _tails.get_or_make(run.metrics_path, lambda: MetricsTail(run.metrics_path))
    lines = tail.update()
    _tails.put(run.metrics_path, tail)  # it has grown
    return lines


def newest(lines: list[dict[str, Any]], name: str) -> Any:
    """The last value of a figure; None if there is none."""
    return next((line[name] for line in reversed(lines) if name in line), None)


def speed(lines: list[dict[str, Any]]) -> float | None:
    """Tokens a second over the last steps."""
    last = [line for line in lines[-4 * SPEED_STEPS :] if "tokens" in line and "seconds" in line][
        -SPEED_STEPS:
    ]
    seconds = sum(line["seconds"] for line in last)
    return sum(line["tokens"] for line in last) / seconds if seconds else None
