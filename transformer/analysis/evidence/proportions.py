"""Confidence intervals of shares and of the difference of two shares, such as of right answers.

Both intervals of the difference combine the score intervals of the two shares (Wilson 1927), so
they never exceed 100 percentage points and are usable for classes of any size: Newcombe 1998,
"Interval estimation for the difference between independent proportions: comparison of eleven
methods", Statistics in Medicine 17:873-890, method 10; and Newcombe 1998, "Improved confidence
intervals for the difference between binomial proportions based on paired data", Statistics in
Medicine 17:2635-2650, method 10.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from transformer.analysis.evidence.bootstrap import CONFIDENCE_PERCENT, Interval

Z = float(ndtri(0.5 + CONFIDENCE_PERCENT / 200))
"""Standard normal quantile of a two-sided 95% interval: 1.96."""


def wilson_interval(successes: int, total: int) -> Interval:
    """Return the share `successes / total` with its score interval.

    Raises:
        ValueError: if `total` is 0 or `successes` is not between 0 and `total`.
    """
    _check_count(successes, total)
    center = (successes + Z**2 / 2) / (total + Z**2)
    half_width = Z * math.sqrt(successes * (total - successes) / total + Z**2 / 4) / (total + Z**2)
    # At the ends the bounds are exactly 0 and 1; rounding must not move them.
    low = 0.0 if successes == 0 else center - half_width
    high = 1.0 if successes == total else center + half_width
    return Interval(successes / total, low, high)


def independent_difference(before: tuple[int, int], after: tuple[int, int]) -> Interval:
    """Return the share after minus the share before, of two independent groups.

    Args:
        before, after: number of successes and total of each group.

    Raises:
        ValueError: as `wilson_interval`.
    """
    return _difference(wilson_interval(*before), wilson_interval(*after), correlation=0.0)


def paired_difference(both: int, lost: int, gained: int, neither: int) -> Interval:
    """Return the share after minus the share before, of one group that was asked twice.

    Args:
        both: number of members who succeeded both times; `lost`: only before; `gained`: only
            after; `neither`: never.

    Raises:
        ValueError: if a number is negative or all are 0.
    """
    total = both + lost + gained + neither
    if min(both, lost, gained, neither) < 0 or not total:
        raise ValueError("The four numbers must be at least 0, and their sum at least 1.")
    before, after = both + lost, both + gained
    variances = before * (total - before) * after * (total - after)
    covariance: float = both * neither - lost * gained
    if covariance > 0:  # Newcombe's correction for continuity
        covariance = max(covariance - total / 2, 0.0)
    correlation = covariance / math.sqrt(variances) if variances else 0.0
    return _difference(
        wilson_interval(before, total), wilson_interval(after, total), correlation=correlation
    )


def _difference(before: Interval, after: Interval, *, correlation: float) -> Interval:
    """Combine the distances from both shares to their bounds like standard errors."""

    def distance(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2 * correlation * a * b + b * b, 0.0))

    value = after.value - before.value
    down = distance(after.value - after.low, before.high - before.value)
    up = distance(after.high - after.value, before.value - before.low)
    return Interval(value, value - down, value + up)


def _check_count(successes: int, total: int) -> None:
    if not 0 <= successes <= total or not total:
        raise ValueError(
            f"{successes} of {total} is not a share; the total must be at least 1 and the "
            "successes between 0 and the total."
        )
