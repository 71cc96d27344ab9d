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
from collections.abc import Iterable, Mapping, Sequence
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


Measure = Literal["loss", "accuracy"]
MIN_SEEDS = 3  # of each side, for a verdict
SOLVED_ACCURACY = 0.95  # share of the validation sequences without error
RULE = (
    f"Holds: each side has at least {MIN_SEEDS} finished seeds, every seed of the first is better "
    "than every seed of the second, and the means differ by more than twice their pooled standard "
    "deviation. Does not hold here: the same the other way round. Inconclusive: anything else."
)
"""The rule of `verdict`. If both sides were equally good, three seeds of each would be ordered like
this 1 time in 20 by chance (1 of the 6!/(3!·3!) orders), and would rarely be this far apart."""


@dataclass(frozen=True)
class Claim:
    """The claim of a race: one entry has a better final result than another."""

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
    """One run that completed all its steps.

    Attributes:
        loss: on the validation pairs at the last step, nats per token.
        accuracy: share of the validation pairs decoded without error, in free decoding.
        solved_step: step of the first evaluation with an accuracy of at least 95%; infinite if
            there is none.
        seconds: time of all steps together, on the machine that ran them.
    """

    entry: str
    seed: int
    loss: float
    accuracy: float
    solved_step: float
    seconds: float


def read_outcome(
    entry: str, seed: int, steps: int, lines: Iterable[Mapping[str, Any]]
) -> Outcome | None:
    """Read the outcome of a run of `steps` steps from the lines of metrics.jsonl; None if it was
    not evaluated after the last one."""
    lines = list(lines)
    evaluations = [line for line in lines if "sequence_accuracy" in line]
    last_evaluations = [line for line in evaluations if line["step"] == steps]
    if not last_evaluations:
        return None
    reached = [line["step"] for line in evaluations if line["sequence_accuracy"] >= SOLVED_ACCURACY]
    return Outcome(
        entry,
        seed,
        float(last_evaluations[-1]["valid_loss"]),
        float(last_evaluations[-1]["sequence_accuracy"]),
        float(min(reached, default=math.inf)),
        float(sum(line["seconds"] for line in lines if "seconds" in line)),
    )


def results_table(outcomes: Iterable[Outcome], entries: Sequence[str]) -> pd.DataFrame:
    """Return a row for each entry, in this order: each measure over its seeds, at equal steps.

    Columns: "n", the number of finished seeds; `{measure}_mean`, `_sd` (sample standard deviation,
    NaN for one seed), `_min` and `_max` for loss and accuracy; "reached", the number of seeds that
    reached 95% correct; "steps_mean", "steps_min" and "steps_max", the steps until then, NaN
    unless every seed reached it; "seconds_mean".

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
    row: dict[str, float] = {"n": len(outcomes)}
    for name in ("loss", "accuracy"):
        values = np.array([getattr(run, name) for run in outcomes], dtype=float)
        row[f"{name}_mean"] = float(values.mean()) if len(values) else math.nan
        row[f"{name}_sd"] = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        row[f"{name}_min"] = float(values.min()) if len(values) else math.nan
        row[f"{name}_max"] = float(values.max()) if len(values) else math.nan
    steps = [run.solved_step for run in outcomes if run.solved_step < math.inf]
    row["reached"] = len(steps)
    all_solved = len(steps) == len(outcomes) > 0
    for name, figure in (("mean", np.mean), ("min", np.min), ("max", np.max)):
        row[f"steps_{name}"] = float(figure(steps)) if all_solved else math.nan
    seconds = [run.seconds for run in outcomes]
    row["seconds_mean"] = float(np.mean(seconds)) if seconds else math.nan
    return row


def verdict(table: pd.DataFrame, claim: Claim, measure: Measure = "loss") -> Verdict:
    """Decide the claim from `results_table` by `RULE`: a lower loss or a higher accuracy is better.

    Raises:
        ValueError: if the table lacks one of the claim's entries.
    """
    for entry in (claim.better, claim.worse):
        if entry not in table.index:
            raise ValueError(f"the table has no entry {entry!r}; it has {', '.join(table.index)}")
    better, worse = (table.loc[[entry]].iloc[0] for entry in (claim.better, claim.worse))
    n = int(min(better["n"], worse["n"]))
    if n < MIN_SEEDS:
        return Verdict(
            claim,
            "inconclusive",
            f"a verdict needs {MIN_SEEDS} finished seeds of each side, and there are "
            f"{int(better['n'])} and {int(worse['n'])}",
        )
    gain = float(better[f"{measure}_mean"] - worse[f"{measure}_mean"])
    if measure == "loss":
        gain = -gain
    spread = math.sqrt((better[f"{measure}_sd"] ** 2 + worse[f"{measure}_sd"] ** 2) / 2)
    reason = (
        f"mean {measure} {better[f'{measure}_mean']:.4g} against {worse[f'{measure}_mean']:.4g}, "
        f"pooled standard deviation {spread:.2g}, {int(better['n'])} and {int(worse['n'])} seeds"
    )
    word: VerdictWord = "inconclusive"
    if abs(gain) > 2 * spread:
        if gain > 0 and _all_seeds_better(better, worse, measure):
            word = "holds"
        elif gain < 0 and _all_seeds_better(worse, better, measure):
            word = "does not hold here"
    if word == "inconclusive":
        separated = _all_seeds_better(better, worse, measure) or _all_seeds_better(
            worse, better, measure
        )
        reason += (
            "; the means differ too little for this deviation"
            if separated
            else "; the results of the seeds overlap"
        )
    return Verdict(claim, word, reason)


def _all_seeds_better(better: pd.Series, worse: pd.Series, measure: Measure) -> bool:
    """Return whether every seed of `better` is better than every seed of `worse`."""
    if measure == "loss":
        return bool(better["loss_max"] < worse["loss_min"])
    return bool(better["accuracy_min"] > worse["accuracy_max"])
