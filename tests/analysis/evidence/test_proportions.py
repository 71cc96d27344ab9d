"""Intervals of shares against published examples, definitions and simulated classes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from transformer.analysis.evidence.proportions import (
    independent_difference,
    paired_difference,
    wilson_interval,
)


@pytest.mark.parametrize(("successes", "total"), [(1, 4), (9, 10), (17, 23), (3, 500)])
def test_a_score_interval_contains_what_the_score_test_accepts(successes: int, total: int) -> None:
    """Wilson's bounds are the shares p at which |observed - p| = z · sqrt(p (1 - p) / n)."""
    share, z = successes / total, norm.ppf(0.975)

    def statistic(p: float) -> float:
        return float((share - p) ** 2 - z**2 * p * (1 - p) / total)

    interval = wilson_interval(successes, total)
    assert interval.low == pytest.approx(brentq(statistic, 1e-12, share, xtol=1e-14), abs=1e-9)
    assert interval.high == pytest.approx(brentq(statistic, share, 1 - 1e-12, xtol=1e-14), abs=1e-9)


def test_score_intervals_at_0_and_1_have_a_closed_form() -> None:
    """With no success the upper bound is z² / (n + z²)."""
    z2 = norm.ppf(0.975) ** 2
    assert wilson_interval(0, 20).high == pytest.approx(z2 / (20 + z2))
    assert wilson_interval(0, 20).low == 0
    assert wilson_interval(20, 20).low == pytest.approx(20 / (20 + z2))
    assert wilson_interval(20, 20).high == 1


@pytest.mark.parametrize(
    ("first", "second", "bounds"),
    [
        # The examples of Newcombe (1998, independent proportions), method 10.
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0000)),
        # Perondi et al. (2004) as in the tests of the R package contingencytables (Fagerland,
        # Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 4).
        ((7, 34), (1, 34), (0.0189, 0.3404)),
    ],
)
def test_independent_groups_equal_a_published_example(
    first: tuple[int, int], second: tuple[int, int], bounds: tuple[float, float]
) -> None:
    interval = independent_difference(second, first)
    assert (interval.low, interval.high) == pytest.approx(bounds, abs=6e-5)
    reversed_order = independent_difference(first, second)
    assert (reversed_order.low, reversed_order.high) == pytest.approx(
        (-interval.high, -interval.low)
    )


def test_paired_answers_equal_a_published_example() -> None:
    """Cavo et al. (2012): 59, 6, 16 and 80 patients; the tests of contingencytables (the same
    book, chapter 8) have -0.0621 (-0.1186 to -0.0046) for before minus after."""
    interval = paired_difference(59, 6, 16, 80)
    assert interval.value == pytest.approx(0.0621, abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx((0.0046, 0.1186), abs=6e-5)


def test_uncorrelated_pairs_give_the_interval_of_two_groups() -> None:
    """5 · 20 = 10 · 10: the answers of both times are independent."""
    paired = paired_difference(5, 10, 10, 20)
    independent = independent_difference((15, 45), (15, 45))
    assert (paired.low, paired.high) == pytest.approx((independent.low, independent.high))
    closer = paired_difference(14, 1, 1, 29)
    assert closer.high - closer.low < (independent.high - independent.low) / 2


def test_every_table_of_up_to_six_has_valid_bounds() -> None:
    for table in itertools.product(range(7), repeat=4):
        if sum(table):
            interval = paired_difference(*table)
            assert -1 - 1e-12 <= interval.low <= interval.value <= interval.high <= 1 + 1e-12
            mirrored = paired_difference(table[0], table[2], table[1], table[3])
            assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))


@pytest.mark.parametrize("students", [12, 30])
def test_the_interval_covers_the_true_difference_in_95_percent(students: int) -> None:
    """Classes drawn at random from a school where 15 of 100 lose and 40 of 100 gain."""
    shares, classes = [0.25, 0.15, 0.40, 0.20], 2000
    tables = np.random.default_rng(1).multinomial(students, shares, size=classes)
    intervals = [paired_difference(*map(int, table)) for table in tables]
    covered = np.mean([interval.low <= 0.25 <= interval.high for interval in intervals])
    assert 0.93 < covered < 0.985
