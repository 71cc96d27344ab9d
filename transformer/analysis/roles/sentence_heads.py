"""Patterns of heads in one sentence: word alignment, and attention to the previous word.

They use this sentence only; `head_roles` uses a whole corpus. The explorer's notable heads are
found in `browser/trace/sentence-heads.js`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

MIN_SHARE = 0.5
"""The minimum share of a clear pattern. A head with uniform weights over three or more tokens never
reaches one half."""


def strongest_pairs(
    weights: Float[np.ndarray, "*heads target source"],
) -> Bool[np.ndarray, "*heads target source"]:
    """Return the pairs of words that are each other's strongest: the intersection of both
    directions.

    This is a standard way to make alignments symmetric (Och and Ney 2003, from memory).
    """
    best = weights == weights.max(axis=-1, keepdims=True)
    best &= weights == weights.max(axis=-2, keepdims=True)
    best &= weights > 0
    # Equal weights would count a word twice.
    best &= (best.cumsum(axis=-1) == 1) & (best.cumsum(axis=-2) == 1)
    return np.asarray(best)


def alignment(
    weights: Float[np.ndarray, "heads target source"],
) -> tuple[Float[np.ndarray, " heads"], Bool[np.ndarray, "target source"]]:
    """Return how clearly each head aligns, 0 to 1, and the pairs it is measured on.

    The pairs are the strongest of the mean of all heads: a single head may be as clear about
    something else, such as the previous or the next word, and those differ from head to head. Their
    weights are summed and divided by the maximum number of pairs.
    """
    pairs = strongest_pairs(weights.mean(axis=0))
    return (weights * pairs).sum(axis=(-2, -1)) / max(min(weights.shape[-2:]), 1), pairs


def word_before(
    weights: Float[np.ndarray, "heads word word"], labels: Sequence[str]
) -> Float[np.ndarray, "heads row"]:
    """Return the weight of every word on the previous word, without punctuation between them."""
    rows = [n for n in range(1, len(labels)) if labels[n] and labels[n - 1]]
    return np.asarray(weights[:, rows, [row - 1 for row in rows]])
