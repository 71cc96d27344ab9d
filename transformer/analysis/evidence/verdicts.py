"""What may be said of a claim, in the words that findings and races share, and by what rule.

A claim says that an effect is greater than a floor: the smallest that would matter to anybody
(or, of harm, less). It holds if all of the effect's interval lies on that side of the floor, it is
refuted if all of it lies on the other, and while the floor is inside nothing is shown. More
sentences make the interval narrower, so a verdict grows out of "not shown" and does not turn: the
size of an effect decides, and never that it differs from nothing, which any difference does over
sentences enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
