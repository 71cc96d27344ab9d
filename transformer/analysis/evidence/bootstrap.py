"""Confidence intervals of corpus figures and their differences: the paired bootstrap (Koehn 2004).

The sentences of the corpus are resampled with replacement many times; the same resamples serve both
systems of a comparison. An interval holds the middle 95% of the differences.

Among many figures, some are large by chance. `BootstrapSamples.simultaneous_intervals` and
`max_difference_interval` therefore give simultaneous intervals for all figures: every figure's
deviation from its value is measured in its own standard errors, and 95% of the resampled corpora
must keep the largest of these deviations below the bound (the "max-t" bootstrap of multiple
testing, as in Romano and Wolf 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU

N_RESAMPLES = 1000
CONFIDENCE_PERCENT = 95.0
"""Percentage of corpora in which an interval contains the true value."""
ROUNDING_ERROR = 1e-12
"""Standard errors below this are rounding."""
ResampledCounts = Float[np.ndarray, "draw sentence"]


@dataclass(frozen=True)
class Interval:
    """A value with bounds that contain the true value for 95 of 100 corpora like this one."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 is outside the interval."""
        return self.low > 0 or self.high < 0

    def scaled(self, factor: float) -> Interval:
        """Return the interval in another unit; `factor` must be above 0."""
        return Interval(factor * self.value, factor * self.low, factor * self.high)


def resampled_counts(sentences: int, *, seed: int = 1, count: int = N_RESAMPLES) -> ResampledCounts:
    """Return how often each sentence occurs in each resampled corpus; a row sums to `sentences`."""
    uniform = np.full(sentences, 1 / sentences)
    counts = np.random.default_rng(seed).multinomial(sentences, uniform, size=count)
    return np.asarray(counts.astype(np.float64))


def percentile_interval(value: float, samples: Float[np.ndarray, "draw"]) -> Interval:
    """Return `value` of the whole corpus with the 2.5th and 97.5th percentile of `samples`."""
    low, high = np.percentile(samples, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


@dataclass(frozen=True, eq=False)
class BootstrapSamples:
    """Figures of one corpus, and the same figures of every resampled corpus.

    Attributes:
        values: the figures of the corpus itself.
        samples: the figures of the resampled corpora, which are the same for all figures.
        sentences: number of sentences of the corpus.
    """

    values: Float[np.ndarray, "figure"]
    samples: Float[np.ndarray, "figure draw"]
    sentences: int

    @classmethod
    def from_ratios(
        cls,
        numerators: Float[np.ndarray, "figure sentence"],
        denominators: Float[np.ndarray, "*some sentence"],
    ) -> BootstrapSamples:
        """Return samples of figures that are a ratio of two sums over the sentences.

        A figure is 0 where its denominator is 0.
        """
        corpus, resamples = np.ones((1, numerators.shape[1])), resampled_counts(numerators.shape[1])
        values, samples = (
            (numerators @ counts.T)
            / np.where((divisor := denominators @ counts.T) == 0, np.inf, divisor)
            for counts in (corpus, resamples)
        )
        return cls(values[:, 0], samples, numerators.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(
        self, selection: slice | Sequence[int] | npt.NDArray[np.bool_]
    ) -> BootstrapSamples:
        """Return the samples of some of the figures."""
        index = selection if isinstance(selection, slice) else np.asarray(selection)
        return BootstrapSamples(self.values[index], self.samples[index], self.sentences)

    def simultaneous_intervals(self) -> list[Interval]:
        """Return intervals that contain all figures at once for 95 of 100 corpora like this one."""
        deviations = self.samples - self.values[:, None]
        standard_errors = deviations.std(axis=1)
        half_widths = (
            _half_width(
                _standardized_distances(deviations, standard_errors).max(axis=0, initial=0),
                self.sentences,
            )
            * standard_errors
        )
        low, high = self.values - half_widths, self.values + half_widths
        return [
            Interval(*map(float, bounds)) for bounds in zip(self.values, low, high, strict=True)
        ]


def max_difference_interval(
    candidates: BootstrapSamples, baselines: BootstrapSamples | None = None
) -> Interval:
    """Return by how much the largest of `candidates` exceeds the largest of `baselines` (default:
    0).

    The value is the maximum over the candidates of the minimum over the baselines of their
    differences. The interval holds for all these differences at once, so picking the best of each
    side does not make the result look more certain than it is. Both sides are compared within the
    same resampled corpora, so a change that affects both equally does not count.
    """
    if baselines is None:
        baselines = BootstrapSamples(
            np.zeros(1), np.zeros((1, candidates.samples.shape[1])), candidates.sentences
        )
    differences = candidates.values[:, None] - baselines.values
    standard_errors, max_distances = (
        np.empty_like(differences),
        np.zeros(candidates.samples.shape[1]),
    )
    for n, samples in enumerate(
        candidates.samples
    ):  # all at once would be large: heads against heads
        deviations = samples - baselines.samples - differences[n][:, None]
        standard_errors[n] = deviations.std(axis=1)
        max_distances = np.maximum(
            max_distances, _standardized_distances(deviations, standard_errors[n]).max(axis=0)
        )
    half_widths = _half_width(max_distances, candidates.sentences) * standard_errors
    return Interval(
        *(
            float(bound.min(axis=1).max())
            for bound in (differences, differences - half_widths, differences + half_widths)
        )
    )


def _standardized_distances(
    deviations: Float[np.ndarray, "figure draw"], standard_errors: Float[np.ndarray, "figure"]
) -> Float[np.ndarray, "figure draw"]:
    """Return absolute deviations in units of standard errors."""
    return np.asarray(
        np.abs(deviations)
        / np.where(standard_errors > ROUNDING_ERROR, standard_errors, np.inf)[:, None]
    )


def _half_width(max_distances: Float[np.ndarray, "draw"], sentences: int) -> float:
    """Return the half-width of an interval in standard errors.

    Resampled corpora of few sentences differ too little, so the tail of the normal distribution is
    replaced by that of Student's t (Hesterberg 2015; not compared with the source).
    """
    if sentences < 2:
        return float("inf")
    from scipy.special import ndtr, stdtrit  # here: 20 MB that a process that trains does not need

    tail = ndtr(-np.percentile(max_distances, CONFIDENCE_PERCENT))
    return float(-stdtrit(sentences - 1, tail) * (sentences / (sentences - 1)) ** 0.5)


def mean_loss(
    losses: Float[np.ndarray, "sentence"],
    tokens: Float[np.ndarray, "sentence"],
    counts: ResampledCounts,
) -> Float[np.ndarray, "draw"]:
    """Return the loss of each resampled corpus, nats per token."""
    return np.asarray((counts @ losses) / (counts @ tokens))


class BleuCounts:
    """BLEU of resampled corpora from counts that are computed once per sentence (Papineni et al.
    2002)."""

    def __init__(self, hypotheses: Sequence[str], references: Sequence[str]) -> None:
        """Raise ValueError if the numbers of hypotheses and references differ."""
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} translations for {len(references)} references")
        metric = BLEU(effective_order=True)  # of single sentences; the counts are the same
        self.counts = np.array(
            [
                [*score.counts, *score.totals, score.sys_len, score.ref_len]
                for score in (
                    metric.sentence_score(hypothesis, [reference])
                    for hypothesis, reference in zip(hypotheses, references, strict=True)
                )
            ],
            dtype=np.float64,
        )

    @property
    def score(self) -> float:
        """BLEU of the whole corpus, 0 to 100, equal to sacrebleu's `corpus_score`."""
        return self._score(self.counts.sum(axis=0))

    def resampled_scores(self, counts: ResampledCounts) -> Float[np.ndarray, "draw"]:
        """Return the BLEU of each resampled corpus."""
        return np.array([self._score(totals) for totals in counts @ self.counts])

    @staticmethod
    def _score(counts: Float[np.ndarray, "10"]) -> float:
        score = BLEU.compute_bleu(
            correct=[int(n) for n in counts[:4]],
            total=[int(n) for n in counts[4:8]],
            sys_len=int(counts[8]),
            ref_len=int(counts[9]),
            smooth_method="exp",
        )
        return float(score.score)
