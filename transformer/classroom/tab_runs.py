"""What the browsers of a class report: the curve of a run, and the solved cases of the bug clinic.

Weights and answers stay in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from transformer.classroom.codes import ClassroomError

LEARNED = 0.99
"""Share of right outputs from which a run has learned its task."""
MAX_POINTS = 400
MAX_STEP = 1_000_000
MAX_CASES = 50


@dataclass(frozen=True)
class TabRun:
    """A run in a browser tab.

    Attributes:
        points: step and share of right outputs, in the order of the steps.
    """

    points: tuple[tuple[int, float], ...]

    @classmethod
    def read(cls, points: Any) -> TabRun:
        """Read what a browser has sent. Raises ClassroomError if it is not a curve."""
        if not isinstance(points, list) or not 0 < len(points) <= MAX_POINTS:
            raise ClassroomError(f"A curve has from 1 to {MAX_POINTS} points.")
        try:
            read = tuple((int(step), float(share)) for step, share in points)
        except (TypeError, ValueError, OverflowError) as error:
            raise ClassroomError("A point of a curve is a step and a share.") from error
        steps = [step for step, _ in read]
        if steps != sorted(set(steps)) or not 0 <= steps[0] <= steps[-1] <= MAX_STEP:
            raise ClassroomError(f"The steps of a curve increase from 0 to at most {MAX_STEP}.")
        if not all(0 <= share <= 1 for _, share in read):
            raise ClassroomError("The shares of a curve are from 0 to 1.")
        return cls(read)

    @property
    def reached(self) -> int | None:
        """The step from which the task is learned; None if it is not."""
        return next((step for step, share in self.points if share >= LEARNED), None)

    def lines(self) -> list[dict[str, Any]]:
        """Return the curve as lines of metrics.jsonl, for `figures.curves`."""
        return [{"step": step, "sequence_accuracy": share} for step, share in self.points]


def read_solved_cases(cases: Any) -> tuple[int, ...]:
    """Read the numbers of solved cases that a browser has sent, counted from 1.

    Raises ClassroomError if they are not different numbers up to `MAX_CASES`.
    """
    if (
        not isinstance(cases, list)
        or not all(type(case) is int and 1 <= case <= MAX_CASES for case in cases)
        or len(set(cases)) != len(cases)
    ):
        raise ClassroomError(f"Solved cases are different whole numbers from 1 to {MAX_CASES}.")
    return tuple(sorted(cases))


def spread(runs: Mapping[str, TabRun]) -> str:
    """Return one sentence on how many runs have learned the task, and how fast."""
    steps = sorted(run.reached for run in runs.values() if run.reached is not None)
    if not steps:
        return f"None of {len(runs)} runs has reached 99% yet."
    if len(steps) == 1:
        return f"1 of {len(runs)} runs has reached 99%, after {steps[0]} steps."
    return (
        f"{len(steps)} of {len(runs)} runs have reached 99%, after {steps[0]} to {steps[-1]} "
        f"steps, with a median of {median(steps):g}."
    )
