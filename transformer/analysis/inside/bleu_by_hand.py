"""BLEU computed step by step for one pair: n-grams, clipped counts, brevity penalty (Papineni et
al. 2002).

The numbers are those of `sacrebleu`, whose tokenizer is used. For a corpus, the counts of all
sentences are summed before the division (`training.quality`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

MAX_ORDER = 4
"""Length of the longest n-grams that BLEU counts."""
Gram = tuple[str, ...]


@dataclass(frozen=True)
class NGramCounts:
    """Counts of the n-grams of one length.

    Attributes:
        n: number of words in an n-gram.
        matched: number of the output's n-grams that are also in the reference, each counted at most
            as often as it occurs there.
        total: number of the output's n-grams.
        smoothed: `matched`, or 1/2^k instead of 0 for the k-th length without a match.
        grams: each different n-gram of the output, its count, and its clipped count.
    """

    n: int
    matched: int
    total: int
    smoothed: float
    grams: tuple[tuple[Gram, int, int], ...] = ()

    @property
    def precision(self) -> float:
        """Share of the output's n-grams that are matched, 0 to 1; 0 if it has none."""
        return self.smoothed / self.total if self.total else 0.0


@dataclass(frozen=True)
class BleuByHand:
    """BLEU of one pair, with every intermediate result.

    Attributes:
        output, reference: the words of both texts.
        orders: the counts for n = 1 to 4; `total` is 0 if the output has fewer than n words.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    orders: tuple[NGramCounts, ...]

    @property
    def counted(self) -> tuple[NGramCounts, ...]:
        """The counts that enter the mean: those for which the output has n-grams."""
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
        """BLEU, 0 to 100."""
        return 100 * self.brevity * self.mean


def words(text: str) -> tuple[str, ...]:
    """Return words and punctuation as sacrebleu's tokenizer "13a", which `evaluate` uses, splits
    them."""
    return tuple(Tokenizer13a()(text.strip()).split())


def ngram_counts(tokens: Sequence[str], n: int) -> Counter[Gram]:
    """Return every run of n words, and its count."""
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def bleu(output: str, reference: str) -> BleuByHand:
    """Compute BLEU of a sentence, with exponential smoothing: without it, one n-gram length without
    a match would make the score 0."""
    output_words, reference_words = words(output), words(reference)
    orders, missed = [], 0
    for n in range(1, MAX_ORDER + 1):
        output_grams, reference_grams = (
            ngram_counts(output_words, n),
            ngram_counts(reference_words, n),
        )
        clipped_grams = tuple(
            (gram, count, min(count, reference_grams[gram])) for gram, count in output_grams.items()
        )
        matched, total = sum(clipped for *_, clipped in clipped_grams), sum(output_grams.values())
        missed += total > 0 and not matched
        orders.append(NGramCounts(n, matched, total, matched or 0.5**missed, clipped_grams))
    if not any(order.matched for order in orders):
        orders = [NGramCounts(c.n, 0, c.total, 0.0, c.grams) for c in orders]
    return BleuByHand(output_words, reference_words, tuple(orders))
