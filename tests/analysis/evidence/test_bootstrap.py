"""Resampled corpora compared with written-out resamples; BLEU compared with sacrebleu."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from transformer.analysis.evidence.bootstrap import (
    BleuCounts,
    Interval,
    mean_loss,
    percentile_interval,
    resampled_counts,
)

HYPOTHESES = [
    "Elle peint un bateau.",
    "Ma tante cache la lampe.",
    "Un pilote",
    "Elle vend du pain.",
]
REFERENCES = [
    "Elle peint un bateau bleu.",
    "Ma tante cache la lampe.",
    "Un pilote vend.",
    "Du pain.",
]


def test_every_bootstrap_sample_has_all_its_sentences() -> None:
    counts = resampled_counts(7, count=200)
    assert counts.shape == (200, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean() == 1
    np.testing.assert_array_equal(counts, resampled_counts(7, count=200))
    assert (counts != resampled_counts(7, seed=2, count=200)).any()


def test_a_sample_equals_a_corpus_with_repeated_sentences() -> None:
    losses, tokens = np.array([3.0, 8.0, 1.0, 4.0]), np.array([2.0, 5.0, 1.0, 9.0])
    bleu_counts, bleu = BleuCounts(HYPOTHESES, REFERENCES), BLEU()
    resampled = resampled_counts(4, count=20)
    for counts, loss, score in zip(
        resampled,
        mean_loss(losses, tokens, resampled),
        bleu_counts.resampled_scores(resampled),
        strict=True,
    ):
        chosen = np.repeat(np.arange(4), counts.astype(int))
        assert loss == pytest.approx(losses[chosen].sum() / tokens[chosen].sum())
        texts = [HYPOTHESES[n] for n in chosen], [[REFERENCES[n] for n in chosen]]
        assert score == pytest.approx(bleu.corpus_score(*texts).score)
    assert bleu_counts.score == pytest.approx(bleu.corpus_score(HYPOTHESES, [REFERENCES]).score)


def test_the_interval_of_a_mean_is_about_two_standard_errors() -> None:
    values = np.random.default_rng(3).normal(1.0, 2.0, size=400)
    unit_tokens = np.ones_like(values)
    interval = percentile_interval(
        values.mean(), mean_loss(values, unit_tokens, resampled_counts(400))
    )
    error = values.std() / 20
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.25 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.25 * error)
    assert interval.excludes_zero
    assert not Interval(0.1, -0.1, 0.3).excludes_zero
    assert Interval(-0.2, -0.3, -0.1).excludes_zero


def test_translations_without_a_reference_are_refused() -> None:
    with pytest.raises(ValueError, match="4 translations for 3 references"):
        BleuCounts(HYPOTHESES, REFERENCES[1:])
