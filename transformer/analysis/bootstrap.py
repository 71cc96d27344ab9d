"""How sure a difference over a corpus is: the paired bootstrap (Koehn 2004).

The corpus is drawn again, sentence by sentence with replacement, many times over; the same draws
serve both systems. The middle 95 % of the differences is the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU

DRAWS = 1000
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


def draws(sentences: int, *, seed: int = 1, count: int = DRAWS) -> Draws:
    """How often each sentence is in each drawn corpus; a row sums to `sentences`."""
    even = np.full(sentences, 1 / sentences)
    counts = np.random.default_rng(seed).multinomial(sentences, even, size=count)
    return np.asarray(counts.astype(np.float64))


def interval(value: float, drawn: Float[np.ndarray, "draw"]) -> Interval:
    """`value` of the whole corpus with the 2.5th and the 97.5th percentile of the draws."""
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


def mean_loss(
    losses: Float[np.ndarray, "sentence"], tokens: Float[np.ndarray, "sentence"], drawn: Draws
) -> Float[np.ndarray, "draw"]:
    """Nats a token of each drawn corpus."""
    return np.asarray((drawn @ losses) / (drawn @ tokens))


class Bleu:
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

    @property
    def score(self) -> float:
        """Of the whole corpus, 0 to 100, as sacrebleu's `corpus_score` has it."""
        return self._score(self.counts.sum(axis=0))

    def drawn(self, drawn: Draws) -> Float[np.ndarray, "draw"]:
        """Of each drawn corpus."""
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
