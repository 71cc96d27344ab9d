"""A run folder that stands in a queue: its turn, its worker, how far it has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformer.training.locks import is_free
from transformer.training.progress import load_progress
from transformer.training.run import RunError, RunFolder
from transformer.training.snapshots import whole_lines

_TAIL = 16_384  # bytes: some fifty steps
LARGEST = 1e300


class JobFolder(RunFolder):
    """The files that the queue adds to those of a run.

    job.json   {"turn": place in the order of coming, "first": whether it stands before all that
               are not, "worker": who took it last, "deleted",
               "holders": the visitors whose run it is, if they are others than config.json says,
               "code": of this version of the app, "changed": whether somebody changed its learning,
               "address": where its owner asked from,
               "shared": whether others may see it, if its owner has said so}
    job.lock   held by the worker from taking the run until it is done with it
    log.txt    what the trainer printed

    Whoever changes a state holds the queue's lock, but the trainer, which holds job.lock.
    """

    shipped = False
    """Whether it came with the app (`shipped.py`)."""

    @property
    def lock_path(self) -> Path:
        return self.path / "job.lock"

    @property
    def log_path(self) -> Path:
        return self.path / "log.txt"

    @property
    def name(self) -> str:
        return self.path.name

    def job(self) -> dict[str, Any]:
        """Empty for a run that the command line began."""
        try:
            return self._read("job.json")
        except RunError:
            return {}

    def change_job(self, **values: Any) -> None:
        self._write("job.json", {**self.job(), **values})

    @property
    def is_held(self) -> bool:
        """Whether a worker has the run, or a command line trains in it."""
        return not (is_free(self.lock_path) and is_free(self.path / "lock"))

    def saved_step(self) -> int:
        """The step that a resumed run goes on from; 0: it begins again."""
        try:
            return load_progress(self).step
        except RunError:
            return 0

    def last_lines(self) -> list[dict[str, Any]]:
        """The end of metrics.jsonl, whole lines of steps alone."""
        lines = whole_lines(self.metrics_path, _TAIL)
        return [line for line in lines if is_number(line.get("step"))]

    def last_step(self) -> int:
        """The last step with a line in metrics.jsonl."""
        return max((line["step"] for line in self.last_lines()), default=0)


def is_number(*values: object) -> bool:
    """Whether all of them are finite numbers that a float can hold, as a run of ours writes them;
    what stands in a file may be anything."""
    return all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -LARGEST < value < LARGEST
        for value in values
    )


def seconds_left(lines: list[dict[str, Any]]) -> float | None:
    """From how fast the share of the run that is over has grown; None before the second step."""
    steps = [line for line in lines if is_number(line.get("share"), line.get("seconds"))]
    if len(steps) < 2 or steps[-1]["share"] <= steps[0]["share"]:
        return None
    gained = float(steps[-1]["share"] - steps[0]["share"])
    taken = float(sum(line["seconds"] for line in steps[1:]))
    return max(0.0, (1 - float(steps[-1]["share"])) * taken / gained)
