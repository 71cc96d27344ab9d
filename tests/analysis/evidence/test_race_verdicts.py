"""Tables and verdicts of races, from invented outcomes."""

from __future__ import annotations

import itertools
import math

import pytest

from transformer.analysis.evidence.verdicts import (
    MIN_SEEDS,
    Claim,
    Outcome,
    results_table,
    verdict,
)

CLAIM = Claim("a beats b", "a", "b")


def outcomes(entry: str, *percents: float) -> list[Outcome]:
    """Return one outcome per seed, with these accuracies in percent."""
    return [Outcome(entry, seed, percent / 100) for seed, percent in enumerate(percents, start=1)]


def test_the_table_has_means_and_ranges_over_seeds() -> None:
    # 2, 4, 9: mean 5, squares of the differences 9 + 1 + 16 = 26, over n - 1 = 2 is 13.
    table = results_table([*outcomes("a", 2, 4, 9), *outcomes("b", 1)], ["b", "a", "c"])
    assert list(table.index) == ["b", "a", "c"]
    a, b, c = table.loc["a"], table.loc["b"], table.loc["c"]
    assert (a["n"], a["min"], a["max"]) == (3, 0.02, 0.09)
    assert (a["mean"], a["sd"]) == pytest.approx((0.05, math.sqrt(13) / 100))
    assert (b["n"], b["mean"]) == (1, 0.01)
    assert math.isnan(b["sd"])
    assert c["n"] == 0
    assert math.isnan(c["mean"])


def test_a_seed_counts_once_and_entries_are_known() -> None:
    with pytest.raises(ValueError, match="'a' has seed 1 twice"):
        results_table([*outcomes("a", 2), *outcomes("a", 3)], ["a"])
    with pytest.raises(ValueError, match="no entry 'x'"):
        results_table(outcomes("x", 2), ["a"])


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        # Standard deviations of 1 and 1, so a pooled one of 1: the means must be over 2 apart.
        ((4, 5, 6), (1, 2, 3), "holds"),
        ((1, 2, 3), (4, 5, 6), "does not hold here"),
        ((3.5, 4, 4.5), (1, 2, 3), "holds"),  # 2 apart; sqrt((1 + 0.25) / 2) is 0.79
        # 2.2 apart, no overlap; but sqrt((3 + 0.01) / 2) is 1.23.
        ((4.1, 4.2, 4.3), (1, 1, 4), "inconclusive"),
        ((4, 7, 8), (1, 2, 5), "inconclusive"),  # 5 and 4 overlap
        ((2, 2, 2), (1, 1, 1), "holds"),
        ((8, 9), (1, 2), "inconclusive"),  # two seeds are not enough
        ((), (8, 9, 10), "inconclusive"),
    ],
)
def test_a_verdict_needs_a_difference_larger_than_the_spread(
    a: tuple[float, ...], b: tuple[float, ...], word: str
) -> None:
    conclusion = verdict(results_table([*outcomes("a", *a), *outcomes("b", *b)], ["a", "b"]), CLAIM)
    assert conclusion.word == word, conclusion.reason
    assert conclusion.claim is CLAIM


def test_the_false_positive_rate_is_at_most_5_percent() -> None:
    """Divide six values between two equal entries in all 20 ways; one gives a false positive."""
    values = [10, 15, 20, 90, 95, 99]
    words = []
    for values_of_a in itertools.combinations(values, MIN_SEEDS):
        values_of_b = [value for value in values if value not in values_of_a]
        table = results_table(
            [*outcomes("a", *values_of_a), *outcomes("b", *values_of_b)], ["a", "b"]
        )
        words.append(verdict(table, CLAIM).word)
    assert (words.count("holds"), len(words)) == (1, 20)
