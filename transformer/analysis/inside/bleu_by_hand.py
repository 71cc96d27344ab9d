"""BLEU computed step by step for one pair: n-grams, clipped counts, brevity penalty (Papineni et
al. 2002).

`sacrebleu` gives the same numbers, and tokenizes the texts. For a corpus the counts of all
sentences are summed before the division (`training.evaluation`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

ORDERS = 4
"""Longest n-gram that counts."""
Gram = tuple[str, ...]


@dataclass(frozen=True)
class NGramCounts:
    """The n-grams of one n.

    Attributes:
        n: number of words in a gram.
        matched: grams of the output that are also in the reference, each counted at most as often
            as in the reference.
        total: grams of the output.
        smoothed: `matched`, or its replacement for 0: 1/2^k for the k-th order without a match.
        grams: each different gram of the output, its count, and its clipped count.
    """

    n: int
    matched: int
    total: int
    smoothed: float
    grams: tuple[tuple[Gram, int, int], ...] = ()

    @property
    def precision(self) -> float:
        """0 to 1; 0 where there is no gram."""
        return self.smoothed / self.total if self.total else 0.0


@dataclass(frozen=True)
class BleuByHand:
    """The parts of the computation.

    Attributes:
        output, reference: the words that are counted.
        orders: n = 1 to 4; those the output is too short for have `total` 0.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    orders: tuple[NGramCounts, ...]

    @property
    def counted(self) -> tuple[NGramCounts, ...]:
        """The orders in the mean: those for which the output has grams."""
        return tuple(order for order in self.orders if order.total)

    @property
    def brevity(self) -> float:
        """Brevity penalty exp(1 − r/c) for an output of c words that is shorter than the reference
        of r words."""
        if len(self.output) >= len(self.reference):
            return 1.0
        return math.exp(1 - len(self.reference) / len(self.output)) if self.output else 0.0

    @property
    def mean(self) -> float:
        """The geometric mean of the precisions, 0 to 1."""
        precisions = [order.precision for order in self.counted]
        if not precisions or not all(precisions):
            return 0.0
        return math.exp(sum(map(math.log, precisions)) / len(precisions))

    @property
    def score(self) -> float:
        """0 to 100."""
        return 100 * self.brevity * self.mean


def words(text: str) -> tuple[str, ...]:
    """Return words and punctuation as sacrebleu's tokenizer "13a", which `evaluate` uses, splits
    them."""
    return tuple(Tokenizer13a()(text.strip()).split())


def grams(tokens: Sequence[str], n: int) -> Counter[Gram]:
    """Return every run of n words, and its count."""
    return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


def bleu(output: str, reference: str) -> BleuByHand:
    """Compute BLEU of a sentence; an n without a match counts 1/2^k, or one miss would make it
    0."""
    output_words, reference_words = words(output), words(reference)
    orders, missed = [], 0
    for n in range(1, ORDERS + 1):
        output_grams, reference_grams = grams(output_words, n), grams(reference_words, n)
        clipped_grams = tuple(
            (gram, count, min(count, reference_grams[gram])) for gram, count in output_grams.items()
        )
        matched, total = sum(clipped for *_, clipped in clipped_grams), sum(output_grams.values())
        missed += total > 0 and not matched
        orders.append(NGramCounts(n, matched, total, matched or 0.5**missed, clipped_grams))
    if not any(order.matched for order in orders):
        orders = [NGramCounts(c.n, 0, c.total, 0.0, c.grams) for c in orders]
    return BleuByHand(output_words, reference_words, tuple(orders))
