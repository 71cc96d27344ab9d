"""What may be said of a claim, in the words that findings and races share, and by what rule.

A claim says that an effect is greater than a floor: the smallest that would matter to anybody
(or, of harm, less). It holds if all of the effect's interval lies on that side of the floor, it is
refuted if all of it lies on the other, and while the floor is inside nothing is shown. More
sentences make the interval narrower, so a verdict grows out of "not shown" and does not turn: the
size of an effect decides, and never that it differs from nothing, which any difference does over
sentences enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from transformer.analysis.evidence.bootstrap import Interval

Word = Literal["holds", "refuted", "not shown", "can't be tested here"]


@dataclass(frozen=True)
class Effect:
    """How large the thing is that a claim is about.

    Attributes:
        name: what it is, as "rollout's correlation less that of raw weights".
        unit: of all the numbers, as "points of AER".
        interval: the value with its bounds.
        floor: what the value must exceed for the claim to hold; with `below`, stay below.
        at_once: comparisons that the interval holds for at the same time (`bootstrap.lead`).
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
    at_once: int = 1
    below: bool = False

    @property
    def verdict(self) -> Word:
        """By the rule above."""
        if self.interval.low > self.floor:
            return "refuted" if self.below else "holds"
        if self.interval.high < self.floor:
            return "holds" if self.below else "refuted"
        return "not shown"

    @property
    def correction(self) -> str:
        """What was done about many comparisons, in words."""
        if self.at_once == 1:
            return "none: one comparison"
        return f"simultaneous 95% interval (max-t bootstrap) over {self.at_once:,} comparisons"

    def to_dict(self) -> dict[str, Any]:
        """For a line of a table, by `COLUMNS`."""
        one, needs = self.interval, "below" if self.below else "above"
        bounds = one.value, one.low, one.high, needs, self.floor
        return dict(
            zip(self.COLUMNS, (self.name, self.unit, *bounds, self.correction), strict=True)
        )


Measure = Literal["loss", "accuracy"]
ENOUGH = 3  # seeds of each side, for a verdict
REACHED = 0.95  # of the validation sequences, whole and right
RULE = (
    f"Holds: each side has at least {ENOUGH} finished seeds, every seed of the one is better than "
    "every seed of the other, and the means differ by more than twice their pooled standard "
    "deviation. Refuted: the same the other way round. Not shown: anything else."
)
"""The rule of `verdict`. Were both sides alike, three seeds of each would come apart like this
1 time in 20 by the order alone (1 of the 6!/(3!·3!) orders), and seldom that far."""


@dataclass(frozen=True)
class Claim:
    """A sentence that a race puts to the test: one entry ends better than another."""

    text: str
    better: str
    worse: str


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and the figures it rests on."""

    claim: Claim
    word: Word
    reason: str


@dataclass(frozen=True)
class Outcome:
    """One run that took all its steps.

    Attributes:
        loss: of the validation pairs at the last step, nats a token.
        accuracy: share of them that were whole and right, decoded freely.
        reached: step of the first look that saw 95% of them right; infinite if none did.
        seconds: of all steps together, on the machine that took them.
    """

    entry: str
    seed: int
    loss: float
    accuracy: float
    reached: float
    seconds: float


def outcome(
    entry: str, seed: int, steps: int, lines: Iterable[Mapping[str, Any]]
) -> Outcome | None:
    """Read from the lines of metrics.jsonl; None unless there was a look after step `steps`."""
    lines = list(lines)
    evaluations = [line for line in lines if "sequence_accuracy" in line]
    last = [line for line in evaluations if line["step"] == steps]
    if not last:
        return None
    reached = [line["step"] for line in evaluations if line["sequence_accuracy"] >= REACHED]
    return Outcome(
        entry,
        seed,
        float(last[-1]["valid_loss"]),
        float(last[-1]["sequence_accuracy"]),
        float(min(reached, default=math.inf)),
        float(sum(line["seconds"] for line in lines if "seconds" in line)),
    )


def results(outcomes: Iterable[Outcome], entries: Sequence[str]) -> pd.DataFrame:
    """A row an entry, in this order: each measure over its seeds, at equal steps.

    Columns: "n", the seeds that finished; `{measure}_mean`, `_sd` (of a sample, so NaN for one
    seed), `_min` and `_max` for loss and accuracy; "reached", how many saw 95% right; "steps_mean",
    "steps_min" and "steps_max" until then, NaN unless every seed did; "seconds_mean". Raises
    ValueError for an outcome of another entry, or a seed that an entry has twice.
    """
    found: dict[str, dict[int, Outcome]] = {entry: {} for entry in entries}
    for one in outcomes:
        if one.entry not in found:
            known = ", ".join(found)
            raise ValueError(f"the race has no entry {one.entry!r}; it has {known}")
        if one.seed in found[one.entry]:
            raise ValueError(f"{one.entry!r} has seed {one.seed} twice; each counts once")
        found[one.entry][one.seed] = one
    rows = {entry: _row(list(seeds.values())) for entry, seeds in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("entry")


def _row(outcomes: list[Outcome]) -> dict[str, float]:
    row: dict[str, float] = {"n": len(outcomes)}
    for name in ("loss", "accuracy"):
        values = np.array([getattr(one, name) for one in outcomes], dtype=float)
        row[f"{name}_mean"] = float(values.mean()) if len(values) else math.nan
        row[f"{name}_sd"] = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        row[f"{name}_min"] = float(values.min()) if len(values) else math.nan
        row[f"{name}_max"] = float(values.max()) if len(values) else math.nan
    steps = [one.reached for one in outcomes if one.reached < math.inf]
    row["reached"] = len(steps)
    every = len(steps) == len(outcomes) > 0
    for name, figure in (("mean", np.mean), ("min", np.min), ("max", np.max)):
        row[f"steps_{name}"] = float(figure(steps)) if every else math.nan
    seconds = [one.seconds for one in outcomes]
    row["seconds_mean"] = float(np.mean(seconds)) if seconds else math.nan
    return row


def verdict(table: pd.DataFrame, claim: Claim, measure: Measure = "loss") -> Verdict:
    """What `results` says about the claim, by `RULE`: loss is better lower, accuracy higher. Raises
    ValueError if the table lacks one of the claim's entries."""
    for entry in (claim.better, claim.worse):
        if entry not in table.index:
            raise ValueError(f"the table has no entry {entry!r}; it has {', '.join(table.index)}")
    one, other = (table.loc[[entry]].iloc[0] for entry in (claim.better, claim.worse))
    n = int(min(one["n"], other["n"]))
    if n < ENOUGH:
        return Verdict(
            claim,
            "not shown",
            f"a verdict needs {ENOUGH} finished seeds of each side, and there are "
            f"{int(one['n'])} and {int(other['n'])}",
        )
    gain = float(one[f"{measure}_mean"] - other[f"{measure}_mean"])
    if measure == "loss":
        gain = -gain
    spread = math.sqrt((one[f"{measure}_sd"] ** 2 + other[f"{measure}_sd"] ** 2) / 2)
    reason = (
        f"mean {measure} {one[f'{measure}_mean']:.4g} against {other[f'{measure}_mean']:.4g}, "
        f"pooled standard deviation {spread:.2g}, {int(one['n'])} and {int(other['n'])} seeds"
    )
    word: Word = "not shown"
    if abs(gain) > 2 * spread:
        if gain > 0 and _apart(one, other, measure):
            word = "holds"
        elif gain < 0 and _apart(other, one, measure):
            word = "refuted"
    if word == "not shown":
        apart = _apart(one, other, measure) or _apart(other, one, measure)
        reason += "; too close for that spread" if apart else "; seeds of the two overlap"
    return Verdict(claim, word, reason)


def _apart(one: pd.Series, other: pd.Series, measure: Measure) -> bool:
    """Whether every seed of `one` is better than every seed of `other`."""
    if measure == "loss":
        return bool(one["loss_max"] < other["loss_min"])
    return bool(one["accuracy_min"] > other["accuracy_max"])
