"""The verdicts of findings and races: holds, does not hold here, or inconclusive.

A claim says that an effect is larger than a floor, the smallest effect that matters (for harm:
smaller than the floor). It holds if the whole interval of the effect is on that side of the floor
and does not hold for this model (of a race: these runs) if the whole interval is on the other side;
while the interval contains the floor, the verdict is inconclusive. A small model without an effect
does not refute a paper about a large one, so no verdict says so. More sentences make the interval
narrower: they can decide an inconclusive verdict, but rarely reverse a decided one. The size of the
effect decides, not its significance: with enough sentences every difference is significant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from transformer.analysis.evidence.bootstrap import Interval

VerdictWord = Literal["holds", "does not hold here", "inconclusive", "can't be tested here"]


@dataclass(frozen=True)
class Effect:
    """The size of the effect that a claim is about.

    Attributes:
        name: for example "AER of the diagonal minus that of the best weights".
        unit: of all the numbers, for example "points of AER".
        interval: the value with its bounds.
        floor: what the value must exceed for the claim to hold; with `below`, stay below.
        n_comparisons: number of comparisons for which the interval is simultaneous
            (`bootstrap.max_difference_interval`).
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "effect",
        "unit",
        "value",
        "low",
        "high",
        "needs",
        "floor",
        "correction",
    )

    name: str
    unit: str
    interval: Interval
    floor: float
    n_comparisons: int = 1
    below: bool = False

    @property
    def verdict(self) -> VerdictWord:
        """The verdict by the rule of this module."""
        if self.interval.low > self.floor:
            return "does not hold here" if self.below else "holds"
        if self.interval.high < self.floor:
            return "holds" if self.below else "does not hold here"
        return "inconclusive"

    @property
    def correction(self) -> str:
        """The correction for multiple comparisons, in words."""
        if self.n_comparisons == 1:
            return "none: one comparison"
        return (
            f"simultaneous 95% interval (max-t bootstrap) over {self.n_comparisons:,} comparisons"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a table row with the columns `COLUMNS`."""
        interval, needs = self.interval, "below" if self.below else "above"
        bounds = interval.value, interval.low, interval.high, needs, self.floor
        return dict(
            zip(self.COLUMNS, (self.name, self.unit, *bounds, self.correction), strict=True)
        )


MIN_SEEDS = 3  # of each side, for a verdict
RULE = (
    f"Holds: each side has at least {MIN_SEEDS} finished seeds, every seed of the first is better "
    "than every seed of the second, and the means differ by more than twice their pooled standard "
    "deviation. Does not hold here: the same the other way round. Inconclusive: anything else."
)
"""The rule of `verdict`. If both sides were equally good, three seeds of each would be ordered like
this 1 time in 20 by chance (1 of the 6!/(3!·3!) orders), and would rarely be this far apart."""


@dataclass(frozen=True)
class Claim:
    """The claim of a race: one entry is more accurate at the end than another."""

    text: str
    better: str
    worse: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, with the figures it is based on."""

    claim: Claim
    word: VerdictWord
    reason: str


@dataclass(frozen=True)
class Outcome:
    """One run that took all its steps, with its accuracy after the last one, from 0 to 1."""

    entry: str
    seed: int
    accuracy: float


def results_table(outcomes: Iterable[Outcome], entries: Sequence[str]) -> pd.DataFrame:
    """Return a row for each entry, in this order: its accuracy over its seeds.

    Columns: "n", the number of seeds; "mean", "sd" (sample standard deviation, NaN for one seed),
    "min" and "max".

    Raises:
        ValueError: for an outcome of another entry, or a seed that an entry has twice.
    """
    by_entry: dict[str, dict[int, Outcome]] = {entry: {} for entry in entries}
    for run in outcomes:
        if run.entry not in by_entry:
            names = ", ".join(by_entry)
            raise ValueError(f"the race has no entry {run.entry!r}; it has {names}")
        if run.seed in by_entry[run.entry]:
            raise ValueError(f"{run.entry!r} has seed {run.seed} twice; each counts once")
        by_entry[run.entry][run.seed] = run
    rows = {entry: _row(list(seeds.values())) for entry, seeds in by_entry.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("entry")


def _row(outcomes: list[Outcome]) -> dict[str, float]:
    values = np.array([run.accuracy for run in outcomes], dtype=float)
    some = len(values) > 0
    return {
        "n": len(values),
        "mean": float(values.mean()) if some else math.nan,
        "sd": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        "min": float(values.min()) if some else math.nan,
        "max": float(values.max()) if some else math.nan,
    }


def verdict(table: pd.DataFrame, claim: Claim) -> Verdict:
    """Decide the claim from `results_table` by `RULE`.

    Raises:
        ValueError: if the table lacks one of the claim's entries.
    """
    for entry in (claim.better, claim.worse):
        if entry not in table.index:
            raise ValueError(f"the table has no entry {entry!r}; it has {', '.join(table.index)}")
    better, worse = (table.loc[[entry]].iloc[0] for entry in (claim.better, claim.worse))
    seeds = int(better["n"]), int(worse["n"])
    if min(seeds) < MIN_SEEDS:
        return Verdict(
            claim,
            "inconclusive",
            f"a verdict needs {MIN_SEEDS} finished seeds of each side, and there are "
            f"{seeds[0]} and {seeds[1]}",
        )
    gain = float(better["mean"] - worse["mean"])
    spread = math.sqrt((better["sd"] ** 2 + worse["sd"] ** 2) / 2)
    reason = (
        f"mean accuracy {better['mean']:.1%} against {worse['mean']:.1%}, "
        f"pooled standard deviation {spread:.1%}, {seeds[0]} and {seeds[1]} seeds"
    )
    above, below = better["min"] > worse["max"], better["max"] < worse["min"]
    if abs(gain) > 2 * spread and (above or below):
        return Verdict(claim, "holds" if above else "does not hold here", reason)
    why = (
        "the means differ too little for this deviation"
        if above or below
        else "the results of the seeds overlap"
    )
    return Verdict(claim, "inconclusive", f"{reason}; {why}")
