"""Verdicts over data with a known truth: they develop from "inconclusive", and do not flip."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.evidence.synthetic_data import TRUTHS
from transformer import Translator
from transformer.analysis.evidence.bootstrap import (
    BootstrapSamples,
    Interval,
    max_difference_interval,
    resampled_counts,
)
from transformer.analysis.evidence.verdicts import Effect, VerdictWord
from transformer.analysis.findings import FINDINGS

SENTENCES = (12, 50, 200, 800)


def test_every_finding_has_a_simulated_truth() -> None:
    assert TRUTHS.keys() == FINDINGS.keys()


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("word", ["holds", "does not hold here"])
def test_verdicts_converge_with_the_number_of_sentences(
    translator: Translator, name: str, word: VerdictWord
) -> None:
    """For a clear truth no number of sentences gives the opposite verdict, and many give the right
    one."""
    truth = TRUTHS[name]
    upwards = (word == "holds") != (name == "single")  # a negative effect
    distance = truth.clear_distance if upwards else -truth.clear_distance
    if name == "single" and not upwards:
        distance = -0.8  # 0.2% of the loss: significant over 800 sentences
    findings = [truth.verdict_of(name, distance, n, 1, translator) for n in SENTENCES]
    words = [finding.verdict for finding in findings]
    assert {*words} <= {word, "inconclusive"}, [finding.reason for finding in findings]
    assert words[-1] == word, findings[-1].reason
    effects = [finding.effect for finding in findings]
    widths = [effect.interval.high - effect.interval.low for effect in effects if effect]
    assert widths[-1] < widths[0]


@pytest.mark.parametrize("name", TRUTHS)
def test_few_sentences_do_not_show_a_small_effect(translator: Translator, name: str) -> None:
    truth = TRUTHS[name]
    words = [
        truth.verdict_of(name, truth.small_distance, 12, seed, translator).verdict
        for seed in (1, 2, 3)
    ]
    assert words.count("inconclusive") >= 2, words


def test_a_verdict_compares_both_bounds_with_the_floor() -> None:
    def verdict(low: float, high: float, below: bool = False) -> VerdictWord:
        return Effect("e", "u", Interval((low + high) / 2, low, high), 1.0, below=below).verdict

    assert verdict(1.1, 3) == "holds"
    assert verdict(0.2, 0.9) == "does not hold here"  # significant, but too small to matter
    assert verdict(0.2, 1.2) == "inconclusive"
    assert verdict(1.0, 1.0) == "inconclusive"
    assert verdict(0.2, 0.9, below=True) == "holds"
    assert verdict(1.1, 3, below=True) == "does not hold here"
    assert verdict(0.9, 3, below=True) == "inconclusive"


@pytest.mark.parametrize("n", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_simultaneous_intervals_cover_all_truths_in_95_percent(n: int) -> None:
    """Twenty correlated means over 200 corpora."""
    rng = np.random.default_rng(1)
    truth, spread = np.linspace(-1, 1, 20), np.linspace(0.5, 3, 20)
    n_all_covered = n_pointwise_covered = n_differences_covered = 0
    for _ in range(200):
        values = truth[:, None] + spread[:, None] * (
            rng.normal(size=(20, n)) + rng.normal(size=(1, n))
        )
        samples = BootstrapSamples.from_ratios(values, np.ones(values.shape[1]))
        n_all_covered += all(
            interval.low <= expected <= interval.high
            for interval, expected in zip(samples.simultaneous_intervals(), truth, strict=True)
        )
        pointwise = np.percentile(samples.samples, [2.5, 97.5], axis=1)
        n_pointwise_covered += bool(((pointwise[0] <= truth) & (truth <= pointwise[1])).all())
        gap = max_difference_interval(samples[:10], samples[10:])
        n_differences_covered += gap.low <= truth[:10].max() - truth[10:].max() <= gap.high
    assert n_all_covered >= 0.92 * 200  # three standard errors below 95%, rounded down
    assert n_differences_covered >= 0.92 * 200
    assert n_pointwise_covered < 0.8 * 200, "pointwise intervals cover all truths less often"


def test_the_difference_of_maxima_equals_the_difference_of_two_heads() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2, 400)) + rng.normal(size=400) + np.array([[0.3], [0.0]])
    samples = BootstrapSamples.from_ratios(values, np.ones(values.shape[1]))
    gap, gaps = max_difference_interval(samples[:1], samples[1:]), values[0] - values[1]
    error = gaps.std() / 20
    assert gap.value == pytest.approx(gaps.mean())
    assert gap.low == pytest.approx(gaps.mean() - 1.96 * error, abs=0.25 * error)
    assert gap.high == pytest.approx(gaps.mean() + 1.96 * error, abs=0.25 * error)
    assert max_difference_interval(samples[:1], samples[:1]) == Interval(0, 0, 0)
    # The best of several: the maximum over one group of the minimum over the other.
    several = BootstrapSamples.from_ratios(rng.normal(size=(5, 30)), np.ones(30))
    best = several.values[:2].max() - several.values[2:].max()
    assert max_difference_interval(several[:2], several[2:]).value == pytest.approx(best)
    assert max_difference_interval(several[:2]).value == pytest.approx(several.values[:2].max())


def test_rates_of_a_sample_equal_those_of_its_sentences() -> None:
    rng = np.random.default_rng(3)
    above, below = rng.random((2, 3, 7)), rng.random((2, 3, 7)) + 1
    samples = BootstrapSamples.from_ratios(above[0], below[0])
    np.testing.assert_allclose(samples.values, above[0].sum(1) / below[0].sum(1))
    counts = resampled_counts(7)[5].astype(int)
    chosen = np.repeat(np.arange(7), counts)
    expected = above[0][:, chosen].sum(1) / below[0][:, chosen].sum(1)
    np.testing.assert_allclose(samples.samples[:, 5], expected)
    shared = BootstrapSamples.from_ratios(above[0], below[0, 0])
    np.testing.assert_allclose(shared.values, above[0].sum(1) / below[0, 0].sum())
