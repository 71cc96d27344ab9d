"""Races: their configs, and tables and verdicts from invented metrics."""

from __future__ import annotations

import itertools
import math

import pytest

from transformer.analysis.evidence.verdicts import (
    MIN_SEEDS,
    Claim,
    Measure,
    Outcome,
    results_table,
    verdict,
)
from transformer.training.races import RACES

CLAIM = Claim("a beats b", "a", "b")


def outcomes(entry: str, *losses: float, solved_step: float = math.inf) -> list[Outcome]:
    """Return one outcome per seed; the accuracy is 1 - loss."""
    return [
        Outcome(entry, seed, loss, 1 - loss, solved_step, seconds=2.0 * seed)
        for seed, loss in enumerate(losses, start=1)
    ]


def test_the_table_has_means_and_ranges_over_seeds() -> None:
    # 2, 4, 9: mean 5, squares of the differences 9 + 1 + 16 = 26, over n - 1 = 2 is 13.
    table = results_table(
        [*outcomes("a", 2, 4, 9, solved_step=30), *outcomes("b", 1)], ["b", "a", "c"]
    )
    assert list(table.index) == ["b", "a", "c"]
    a, b, c = table.loc["a"], table.loc["b"], table.loc["c"]
    assert (a["n"], a["loss_mean"], a["loss_min"], a["loss_max"]) == (3, 5, 2, 9)
    assert a["loss_sd"] == pytest.approx(math.sqrt(13))
    assert (a["accuracy_mean"], a["accuracy_min"], a["accuracy_max"]) == (-4, -8, -1)
    assert (a["reached"], a["steps_mean"], a["seconds_mean"]) == (3, 30, 4)
    assert (b["n"], b["loss_mean"], b["reached"]) == (1, 1, 0)
    assert math.isnan(b["loss_sd"])
    assert math.isnan(b["steps_mean"])
    assert c["n"] == 0
    assert math.isnan(c["loss_mean"])


def test_steps_to_95_percent_have_a_mean_only_if_all_seeds_reach_it() -> None:
    runs = [Outcome("a", 1, 0, 1, 20, 1), Outcome("a", 2, 0, 1, 50, 1)]
    row = results_table(runs, ["a"]).loc["a"]
    assert (row["steps_mean"], row["steps_min"], row["steps_max"], row["reached"]) == (
        35,
        20,
        50,
        2,
    )
    row = results_table([*runs, Outcome("a", 3, 0, 0.9, math.inf, 1)], ["a"]).loc["a"]
    assert row["reached"] == 2
    assert math.isnan(row["steps_mean"])
    assert math.isnan(row["steps_max"])


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        # Standard deviations of 1 and 1, so a pooled one of 1: the means must be over 2 apart.
        ((1, 2, 3), (4, 5, 6), "holds"),
        ((4, 5, 6), (1, 2, 3), "does not hold here"),
        ((1, 2, 3), (3.5, 4, 4.5), "holds"),  # 2 apart; sqrt((1 + 0.25) / 2) is 0.79
        # 2.2 apart, no overlap; but sqrt((3 + 0.01) / 2) is 1.23.
        ((1, 1, 4), (4.1, 4.2, 4.3), "inconclusive"),
        ((1, 2, 5), (4, 7, 8), "inconclusive"),  # 5 and 4 overlap
        ((1, 2, 3), (2, 3, 4), "inconclusive"),
        ((1, 1, 1), (1, 1, 1), "inconclusive"),
        ((1, 1, 1), (2, 2, 2), "holds"),
        ((1, 2), (8, 9), "inconclusive"),  # two seeds are not enough
        ((1, 2, 3), (8, 9), "inconclusive"),
        ((), (8, 9, 10), "inconclusive"),
    ],
)
def test_a_verdict_needs_a_difference_larger_than_the_spread(
    a: tuple[float, ...], b: tuple[float, ...], word: str
) -> None:
    table = results_table([*outcomes("a", *a), *outcomes("b", *b)], ["a", "b"])
    measures: tuple[Measure, ...] = ("loss", "accuracy")
    for measure in measures:  # the accuracy is 1 - loss: higher is better
        conclusion = verdict(table, CLAIM, measure)
        assert conclusion.word == word, conclusion.reason
        assert conclusion.claim is CLAIM


def test_a_verdict_names_its_evidence() -> None:
    table = results_table([*outcomes("a", 1, 2, 3), *outcomes("b", 4, 5, 6)], ["a", "b"])
    reason = verdict(table, CLAIM).reason
    assert reason == "mean loss 2 against 5, pooled standard deviation 1, 3 and 3 seeds"
    table = results_table([*outcomes("a", 1, 2), *outcomes("b", 4, 5, 6)], ["a", "b"])
    assert verdict(table, CLAIM).reason == (
        "a verdict needs 3 finished seeds of each side, and there are 2 and 3"
    )


def test_the_false_positive_rate_is_at_most_5_percent() -> None:
    """Divide six values between two equal entries in all 20 ways; one gives a false positive."""
    values = [0.1, 0.15, 0.2, 0.9, 1.0, 1.1]
    n_holds = n_assignments = 0
    for values_of_a in itertools.combinations(values, MIN_SEEDS):
        values_of_b = [value for value in values if value not in values_of_a]
        table = results_table(
            [*outcomes("a", *values_of_a), *outcomes("b", *values_of_b)], ["a", "b"]
        )
        n_holds += verdict(table, CLAIM).word == "holds"
        n_assignments += 1
    assert (n_holds, n_assignments) == (1, 20)


def test_entries_differ_only_in_the_compared_setting() -> None:
    compared_fields = {
        "scores": {"score", "d_model"},
        "positions": {"positions", "max_len"},
        "heads": {"n_heads"},
        "warm-up": {"warmup"},
        "layers": {"d_ff"},
    }
    for name, race in RACES.items():
        first, *other_configs = [race.config(entry, 1, "").to_dict() for entry in race.entries]
        changed_fields = {
            field
            for config in other_configs
            for part in ("model", "training")
            for field, value in first[part].items()
            if config[part][field] != value
        }
        # The entries with other positions may all have the default max_len.
        assert changed_fields in (compared_fields[name], compared_fields[name] - {"max_len"})
    scores = RACES["scores"]
    assert sorted({scores.config(e, 1, "").model.d_k for e in scores.entries}) == [16, 64, 256]
