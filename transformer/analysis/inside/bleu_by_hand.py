"""BLEU worked out for one pair: n-grams, clipped counts, brevity penalty (Papineni et al. 2002).

`sacrebleu` gives the same numbers, and cuts the texts into the words that are counted here. Of a
corpus the counts of all sentences are added up before anything is divided (`training.evaluation`).
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
        n: words of a gram.
        matched: grams of the output that the reference has too, each counted at most as often as
            the reference has it.
        total: grams of the output.
        smoothed: `matched`, or what stands in for 0: 1/2^k for the k-th order without a match.
        grams: each different gram of the output: how often it is there, how often it counts.
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
    """The whole sum.

    Attributes:
        output, reference: the words that are counted.
        orders: n = 1 to 4; those the output is too short for have `total` 0.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    orders: tuple[NGramCounts, ...]

    @property
    def counted(self) -> tuple[NGramCounts, ...]:
        """The orders that the mean is over: those that the output has grams of."""
        return tuple(order for order in self.orders if order.total)

    @property
    def brevity(self) -> float:
        """exp(1 − r/c) for an output of c words that is shorter than the r of the reference."""
        if len(self.output) >= len(self.reference):
            return 1.0
        return math.exp(1 - len(self.reference) / len(self.output)) if self.output else 0.0

    @property
    def mean(self) -> float:
        """The geometric mean of the precisions, 0 to 1."""
        found = [order.precision for order in self.counted]
        if not found or not all(found):
            return 0.0
        return math.exp(sum(map(math.log, found)) / len(found))

    @property
    def score(self) -> float:
        """0 to 100."""
        return 100 * self.brevity * self.mean


def words(text: str) -> tuple[str, ...]:
    """Words and signs as sacrebleu's "13a" cuts them, which `evaluate` uses."""
    return tuple(Tokenizer13a()(text.strip()).split())


def grams(tokens: Sequence[str], n: int) -> Counter[Gram]:
    """Every run of n words, and how often it is there."""
    return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


def bleu(output: str, reference: str) -> BleuByHand:
    """BLEU of a sentence; an n that matches nothing counts 1/2^k, or one miss would make it 0."""
    said, wanted = words(output), words(reference)
    orders, missed = [], 0
    for n in range(1, ORDERS + 1):
        found, there = grams(said, n), grams(wanted, n)
        listed = tuple((gram, count, min(count, there[gram])) for gram, count in found.items())
        matched, total = sum(clipped for *_, clipped in listed), sum(found.values())
        missed += total > 0 and not matched
        orders.append(NGramCounts(n, matched, total, matched or 0.5**missed, listed))
    if not any(order.matched for order in orders):
        orders = [NGramCounts(one.n, 0, one.total, 0.0, one.grams) for one in orders]
    return BleuByHand(said, wanted, tuple(orders))
