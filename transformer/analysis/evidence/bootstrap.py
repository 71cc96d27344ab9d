"""How sure a difference over a corpus is: the paired bootstrap (Koehn 2004).

The corpus is drawn again, sentence by sentence with replacement, many times over; the same draws
serve both systems. The middle 95 % of the differences is the interval.

Where many figures are looked at, some will seem large by chance. `Drawn.together` and `lead` give
intervals that hold for all of them at once: each figure's distance from its value is counted in
its own standard errors, and the greatest of these distances in a drawn corpus, over all figures,
is what 95 % of the corpora must not exceed (the "max-t" bootstrap of multiple testing, as in
Romano and Wolf 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU
from scipy.special import ndtr, stdtrit

DRAWS = 1000
SURE = 95.0
"""Percent of the corpora in which an interval holds what it is of."""
NOTHING = 1e-12
"""A standard error below this is rounding."""
Draws = Float[np.ndarray, "draw sentence"]


@dataclass(frozen=True)
class Interval:
    """A value with the bounds that hold it in 95 of 100 corpora like this one."""

    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether 0 lies outside."""
        return self.low > 0 or self.high < 0

    def times(self, factor: float) -> Interval:
        """In another unit; `factor` is above 0."""
        return Interval(factor * self.value, factor * self.low, factor * self.high)


def draws(sentences: int, *, seed: int = 1, count: int = DRAWS) -> Draws:
    """How often each sentence is in each drawn corpus; a row sums to `sentences`."""
    even = np.full(sentences, 1 / sentences)
    counts = np.random.default_rng(seed).multinomial(sentences, even, size=count)
    return np.asarray(counts.astype(np.float64))


def interval(value: float, drawn: Float[np.ndarray, "draw"]) -> Interval:
    """`value` of the whole corpus with the 2.5th and the 97.5th percentile of the draws."""
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Figures of one corpus, and the same in every drawn corpus.

    Attributes:
        values: of the corpus as it is.
        drawn: in drawn corpora; of all figures the same ones.
        sentences: that the corpus has.
    """

    values: Float[np.ndarray, "figure"]
    drawn: Float[np.ndarray, "figure draw"]
    sentences: int

    @classmethod
    def means(cls, each: Float[np.ndarray, "figure sentence"]) -> Drawn:
        """Figures that are means over the sentences."""
        n = each.shape[1]
        return cls(each.mean(axis=1), (draws(n) / n @ each.T).T, n)

    @classmethod
    def rates(
        cls, above: Float[np.ndarray, "figure sentence"], below: Float[np.ndarray, "*some sentence"]
    ) -> Drawn:
        """Figures that are one sum over the sentences divided by another; 0 where that is 0."""
        whole, again = np.ones((1, above.shape[1])), draws(above.shape[1])
        values, drawn = (
            (above @ each.T) / np.where((under := below @ each.T) == 0, np.inf, under)
            for each in (whole, again)
        )
        return cls(values[:, 0], drawn, above.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: slice | Sequence[int] | npt.NDArray[np.bool_]) -> Drawn:
        """Some of the figures."""
        index = which if isinstance(which, slice) else np.asarray(which)
        return Drawn(self.values[index], self.drawn[index], self.sentences)

    def together(self) -> list[Interval]:
        """Intervals that, in 95 of 100 corpora like this one, hold all figures at once."""
        far = self.drawn - self.values[:, None]
        errors = far.std(axis=1)
        reach = _reach(_distances(far, errors).max(axis=0, initial=0), self.sentences) * errors
        low, high = self.values - reach, self.values + reach
        return [Interval(*map(float, one)) for one in zip(self.values, low, high, strict=True)]


def lead(ours: Drawn, theirs: Drawn | None = None) -> Interval:
    """By how much the greatest of `ours` exceeds the greatest of `theirs` (left out: 0).

    That is max over ours of the min over theirs of their differences. The interval holds for all
    those differences at once, so that choosing the best of each side makes nothing seem surer
    than it is. It compares within the same drawn corpora: what moves both alike does not count.
    """
    if theirs is None:
        theirs = Drawn(np.zeros(1), np.zeros((1, ours.drawn.shape[1])), ours.sentences)
    gaps = ours.values[:, None] - theirs.values
    errors, greatest = np.empty_like(gaps), np.zeros(ours.drawn.shape[1])
    for n, own in enumerate(ours.drawn):  # all at once would be large: heads against heads
        far = own - theirs.drawn - gaps[n][:, None]
        errors[n] = far.std(axis=1)
        greatest = np.maximum(greatest, _distances(far, errors[n]).max(axis=0))
    reach = _reach(greatest, ours.sentences) * errors
    return Interval(*(float(of.min(axis=1).max()) for of in (gaps, gaps - reach, gaps + reach)))


def _distances(
    far: Float[np.ndarray, "figure draw"], errors: Float[np.ndarray, "figure"]
) -> Float[np.ndarray, "figure draw"]:
    """In standard errors."""
    return np.asarray(np.abs(far) / np.where(errors > NOTHING, errors, np.inf)[:, None])


def _reach(greatest: Float[np.ndarray, "draw"], sentences: int) -> float:
    """How many standard errors an interval reaches to both sides.

    Few sentences make drawn corpora too much alike; the interval is widened from the normal
    distribution's tail to that of Student's t (Hesterberg 2015, from memory).
    """
    if sentences < 2:
        return float("inf")
    tail = ndtr(-np.percentile(greatest, SURE))
    return float(-stdtrit(sentences - 1, tail) * (sentences / (sentences - 1)) ** 0.5)


def mean_loss(
    losses: Float[np.ndarray, "sentence"], tokens: Float[np.ndarray, "sentence"], drawn: Draws
) -> Float[np.ndarray, "draw"]:
    """Nats a token of each drawn corpus."""
    return np.asarray((drawn @ losses) / (drawn @ tokens))


class BleuCounts:
    """BLEU of drawn corpora from counts that are made once a sentence (Papineni et al. 2002)."""

    def __init__(self, hypotheses: Sequence[str], references: Sequence[str]) -> None:
        """Raises ValueError if there are not as many hypotheses as references."""
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} translations for {len(references)} references")
        metric = BLEU(effective_order=True)  # of single sentences; the counts are the same
        self.counts = np.array(
            [
                [*found.counts, *found.totals, found.sys_len, found.ref_len]
                for found in (
                    metric.sentence_score(hypothesis, [reference])
                    for hypothesis, reference in zip(hypotheses, references, strict=True)
                )
            ],
            dtype=np.float64,
        )

    @classmethod
    def of_counts(cls, counts: Float[np.ndarray, "sentence 10"]) -> BleuCounts:
        """From `counts` of another: four of n-grams that match, four of all, and both lengths."""
        made = cls.__new__(cls)
        made.counts = counts
        return made

    @property
    def score(self) -> float:
        """BLEU of the whole corpus, 0 to 100, as sacrebleu's `corpus_score` has it."""
        return self._score(self.counts.sum(axis=0))

    def drawn(self, drawn: Draws) -> Float[np.ndarray, "draw"]:
        """BLEU of each drawn corpus."""
        return np.array([self._score(counts) for counts in drawn @ self.counts])

    @staticmethod
    def _score(counts: Float[np.ndarray, "10"]) -> float:
        found = BLEU.compute_bleu(
            correct=[int(n) for n in counts[:4]],
            total=[int(n) for n in counts[4:8]],
            sys_len=int(counts[8]),
            ref_len=int(counts[9]),
            smooth_method="exp",
        )
        return float(found.score)
