"""What the browsers of a class report: the curves of a run or of a race, and the solved cases of
the bug clinic.

Weights and answers stay in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import pandas as pd

from transformer.analysis.evidence.verdicts import (
    Claim,
    Outcome,
    Verdict,
    results_table,
    verdict,
)
from transformer.analysis.table1.score_scale import KINDS
from transformer.classroom.codes import ClassroomError
from transformer.text.door import (
    Refusal,
    Shape,
    accepts,
    choice,
    number,
    pair,
    read_fields,
    record,
    several,
    whole,
)

LEARNED = 0.99
"""Share of right outputs from which a run has learned its task."""
MAX_POINTS = 400
MAX_STEP = 1_000_000
MAX_RUNS = 13  # of one browser
MAX_CASES = 50
MAX_HEADS = 8
MODELS = {
    "transformer": "Transformer",
    "gru_attention": "GRU with attention",
    "gru": "GRU without attention",
}
"""The models of `client/app/trainer/knobs.js`."""
POSITIONS = {
    "sinusoidal": "Sinusoidal positions",
    "learned": "Learned positions",
    "none": "No positions",
}
NAMES: Mapping[str, Mapping[Any, str]] = {
    "model": MODELS,
    "score": {str(score): name for score, name in KINDS.items()},
    "n_heads": {n: "One head" if n == 1 else f"{n} heads" for n in range(1, MAX_HEADS + 1)},
    "positions": POSITIONS,
}
CLAIMS = (
    Claim("Dividing by √d_k helps", KINDS["scaled_dot"], KINDS["dot"]),
    Claim("Without the division, additive scores win", KINDS["additive"], KINDS["dot"]),
    Claim("Attention helps a recurrent model", MODELS["gru_attention"], MODELS["gru"]),
    Claim("A Transformer beats a GRU without attention", MODELS["transformer"], MODELS["gru"]),
    Claim("Four heads beat one big head", "4 heads", "One head"),
    Claim("Positions help", POSITIONS["sinusoidal"], POSITIONS["none"]),
)
"""What races in the tabs are about; a race tests the claims about its own entries."""
Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class TabRun:
    """A run in a browser tab.

    Attributes:
        points: step and share of right outputs, in the order of the steps.
        model, score, n_heads, positions: settings in which the runs of a race can differ (`NAMES`).
        steps: of the whole run.
    """

    points: Points
    model: str = "transformer"
    score: str = "scaled_dot"
    n_heads: int = 4
    positions: str = "sinusoidal"
    steps: int = MAX_STEP

    @classmethod
    def read(cls, points: object) -> TabRun:
        """Read the curve of a run. Raises ClassroomError if it is not a curve."""
        return cls(_read_report({"points": points}, _SentCurve).points).checked()

    def checked(self) -> TabRun:
        """Return this run. Raises ClassroomError if its points are none or do not increase."""
        steps = [step for step, _ in self.points]
        if not steps or steps != sorted(set(steps)):
            raise ClassroomError(f"The steps of a curve increase from 0 to at most {MAX_STEP}.")
        return self

    @property
    def reached(self) -> int | None:
        """The step from which the task is learned; None if it is not."""
        return next((step for step, share in self.points if share >= LEARNED), None)

    def lines(self) -> list[dict[str, Any]]:
        """Return the curve as lines of metrics.jsonl, for `figures.curves`."""
        return _lines(self.points)


@dataclass(frozen=True, kw_only=True)
class _SentCurve:
    points: tuple[tuple[int, float], ...] = accepts(
        several(pair(whole(0, MAX_STEP), number(0, 1)), MAX_POINTS)
    )


@dataclass(frozen=True, kw_only=True)
class _SentRun(_SentCurve):
    model: str = accepts(choice([*MODELS]))
    score: str = accepts(choice([*KINDS]))
    n_heads: int = accepts(whole(1, MAX_HEADS), default=4)
    positions: str = accepts(choice([*POSITIONS]), default="sinusoidal")
    steps: int = accepts(whole(1, MAX_STEP))


@dataclass(frozen=True, kw_only=True)
class _SentRuns:
    runs: tuple[_SentRun, ...] = accepts(several(record(_SentRun), MAX_RUNS))


@dataclass(frozen=True, kw_only=True)
class _SentCases:
    solved: tuple[int, ...] = accepts(several(whole(1, MAX_CASES), MAX_CASES))


def read_runs(runs: object) -> tuple[TabRun, ...]:
    """Read the run, or the runs of a race, that a browser has sent.

    Raises ClassroomError if these are not runs with a curve, a model, a score and steps.
    """
    sent = _read_report({"runs": runs}, _SentRuns).runs
    if not sent:
        raise ClassroomError(f"A browser reports from 1 to {MAX_RUNS} runs.")
    return tuple(TabRun(**vars(run)).checked() for run in sent)


def _read_report(values: object, shape: type[Shape]) -> Shape:
    try:
        return read_fields(values, shape)
    except Refusal as error:
        raise ClassroomError(str(error)) from error


def _lines(points: Points) -> list[dict[str, Any]]:
    return [{"step": step, "sequence_accuracy": share} for step, share in points]


@dataclass(frozen=True, eq=False)
class TabRace:
    """The race of a class: the same settings in every tab, each with its own seed.

    Attributes:
        runs: by entry, the run of each tab.
        table: `results_table` of the runs that took all their steps.
    """

    runs: Mapping[str, Sequence[TabRun]]
    table: pd.DataFrame
    verdicts: Sequence[Verdict]

    def mean_lines(self) -> dict[str, list[dict[str, Any]]]:
        """Return each entry's mean over the tabs, as lines of metrics.jsonl."""
        return {entry: _lines(_mean(runs)) for entry, runs in self.runs.items()}


def tab_race(reports: Mapping[str, Sequence[TabRun]]) -> TabRace | None:
    """Return the race that tabs with several runs have trained; None if there is none.

    Args:
        reports: the runs of each tab. A tab with one run is in no race.
    """
    racing = [runs for runs in reports.values() if len(runs) > 1]
    field = next(
        (
            name
            for name in NAMES
            if len({getattr(run, name) for runs in racing for run in runs}) > 1
        ),
        None,
    )
    if field is None:
        return None
    by_entry: dict[str, dict[int, TabRun]] = {}
    for tab, runs in enumerate(racing):
        for run in runs:
            by_entry.setdefault(NAMES[field][getattr(run, field)], {}).setdefault(tab, run)
    table = results_table(
        [
            Outcome(entry, tab, run.points[-1][1])
            for entry, runs_by_tab in by_entry.items()
            for tab, run in runs_by_tab.items()
            if run.points[-1][0] >= run.steps
        ],
        [*by_entry],
    )
    claims = [claim for claim in CLAIMS if {claim.better, claim.worse} <= {*by_entry}]
    return TabRace(
        {entry: [*runs_by_tab.values()] for entry, runs_by_tab in by_entry.items()},
        table,
        [verdict(table, claim) for claim in claims],
    )


def _mean(runs: Sequence[TabRun]) -> Points:
    """Return the mean share at each step that any run was measured at."""
    shares: dict[int, list[float]] = {}
    for run in runs:
        for step, share in run.points:
            shares.setdefault(step, []).append(share)
    return tuple((step, fmean(shares[step])) for step in sorted(shares))


def read_solved_cases(cases: object) -> tuple[int, ...]:
    """Read the numbers of solved cases that a browser has sent, counted from 1.

    Raises ClassroomError if they are not different numbers up to `MAX_CASES`.
    """
    try:
        solved = read_fields({"solved": cases}, _SentCases).solved
    except Refusal:
        solved = (0, 0)
    if len(set(solved)) != len(solved):
        raise ClassroomError(f"Solved cases are different whole numbers from 1 to {MAX_CASES}.")
    return tuple(sorted(solved))


def spread(runs: Sequence[TabRun]) -> str:
    """Return one sentence on how many runs have learned the task, and how fast."""
    steps = sorted(run.reached for run in runs if run.reached is not None)
    if not steps:
        return f"None of {len(runs)} runs has reached 99% yet."
    if len(steps) == 1:
        return f"1 of {len(runs)} runs has reached 99%, after {steps[0]} steps."
    return (
        f"{len(steps)} of {len(runs)} runs have reached 99%, after {steps[0]} to {steps[-1]} "
        f"steps, with a median of {median(steps):g}."
    )
