"""BLEU of one pair, step by step: n-grams, clipped counts, brevity penalty (Papineni et al. 2002).

The score, counts and precisions are those of `sacrebleu.sentence_bleu`. For a corpus, the counts of
all sentences are summed before the division (`training.quality`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import sacrebleu
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
        precision: share of the output's n-grams that are matched, 0 to 1; smoothed if none is.
        grams: each different n-gram of the output, its count, and its clipped count.
    """

    n: int
    matched: int
    total: int
    precision: float
    grams: tuple[tuple[Gram, int, int], ...]


@dataclass(frozen=True)
class BleuByHand:
    """BLEU of one pair, with every intermediate result.

    Attributes:
        output, reference: the words of both texts.
        orders: the counts for n = 1 to 4; `total` is 0 if the output has fewer than n words.
        brevity: penalty exp(1 − r/c) for an output of c words that is shorter than the reference of
            r words, else 1.
        mean: the geometric mean of the precisions, 0 to 1; lengths that the output does not have
            are left out.
        score: BLEU, 0 to 100.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    orders: tuple[NGramCounts, ...]
    brevity: float
    mean: float
    score: float

    @property
    def counted(self) -> tuple[NGramCounts, ...]:
        """The counts that enter the mean: those for which the output has n-grams."""
        return tuple(order for order in self.orders if order.total)


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
    result = sacrebleu.sentence_bleu(output, [reference])
    output_words, reference_words = words(output), words(reference)
    orders = []
    for n in range(1, MAX_ORDER + 1):
        in_reference = ngram_counts(reference_words, n)
        grams = tuple(
            (gram, count, min(count, in_reference[gram]))
            for gram, count in ngram_counts(output_words, n).items()
        )
        precision = result.precisions[n - 1] / 100
        orders.append(NGramCounts(n, result.counts[n - 1], result.totals[n - 1], precision, grams))
    precisions = [order.precision for order in orders if order.total]
    mean = math.prod(precisions) ** (1 / len(precisions)) if precisions else 0.0
    return BleuByHand(output_words, reference_words, tuple(orders), result.bp, mean, result.score)
