"""Attention in numbers, one for each head: how spread, how far, how regular, where.

Weights are (…, query, key), each row a distribution over the keys; float32 rows that sum to 1 only
within 1e-4 are welcome. Every function takes the mean over the rows, each row counting the same,
and raises ValueError for weights without a cell or not within 0 to 1. In causal attention row i
has no weight on the keys after i; nothing here needs to be told.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer


def entropy(weights: Float[np.ndarray, "*heads query key"]) -> Float[np.ndarray, "*heads"]:
    """How spread: −Σ w · log2 w, in bits. 0 is all on one key, log2(n) even over n.

    Clark et al. 2019, section 3.3 (https://arxiv.org/abs/1906.04341), there in nats.
    """
    w = _checked(weights)
    # A weight is at most 1, so its logarithm is never positive; abs leaves no −0 behind.
    bits = np.abs(np.log2(np.where(w > 0, w, 1.0)))
    return _mean((w * bits).sum(axis=-1))


def distance(weights: Float[np.ndarray, "*heads query key"]) -> Float[np.ndarray, "*heads"]:
    """How far: Σ w · |i − j| from query i to key j, in tokens.

    The attention distance of Vig and Belinkov 2019 (https://arxiv.org/abs/1906.04284). It is meant
    for self-attention; in cross attention i and j count the tokens of two languages, and the
    number says how far a head is from the diagonal, not how far apart two words are.
    """
    w = _checked(weights)
    queries, keys = np.arange(w.shape[-2])[:, None], np.arange(w.shape[-1])
    return _mean((w * np.abs(queries - keys)).sum(axis=-1))


def positional(weights: Float[np.ndarray, "*heads query key"]) -> Float[np.ndarray, "*heads"]:
    """How regular: the share of rows, 0 to 1, with their greatest weight at `offset(weights)`.

    Voita et al. 2019, section 5.1 (https://arxiv.org/abs/1905.09418), call a head positional from
    0.9 on, counted over a whole set of sentences, and in practice find −1 and +1. Here, where it
    is one sentence, a row that cannot reach the offset (row 0 has nothing at −1) does not count:
    a head that always looks one back is 1, however short the sentence, and not (n − 1) / n. The
    price is that few rows make a high share easily: two tokens that look at each other give 1.
    """
    return _most_common(weights)[1]


def offset(weights: Float[np.ndarray, "*heads query key"]) -> Integer[np.ndarray, "*heads"]:
    """The most common place of a row's greatest weight, j − i: −1 is the token before.

    Of equally common ones the nearest to 0, then the smaller; of a row's equal weights the first.
    """
    return _most_common(weights)[0]


def share(
    weights: Float[np.ndarray, "*heads query key"], column: int
) -> Float[np.ndarray, "*heads"]:
    """The weight on one column, 0 to 1: 0 for the first key, −1 for the last.

    Much of it on `<s>` or `</s>` is a head at rest: Clark et al. 2019, section 3.2.

    Raises:
        ValueError: also for a column that is not there.
    """
    w = _checked(weights)
    return _mean(w[..., _column(column, w.shape[-1])])


def confidence(
    weights: Float[np.ndarray, "*heads query key"], skip: Collection[int] = ()
) -> Float[np.ndarray, "*heads"]:
    """A row's greatest weight, 0 to 1, where the columns `skip` do not count; −1 is the last.

    Voita et al. 2019, section 4, leave out `</s>`, which is no real token. 0 if no column is left.

    Raises:
        ValueError: also for a column that is not there.
    """
    w = _checked(weights)
    left_out = [_column(column, w.shape[-1]) for column in skip]
    return _mean(np.delete(w, left_out, axis=-1).max(axis=-1, initial=0.0))


def _most_common(
    weights: Float[np.ndarray, "*heads query key"],
) -> tuple[Integer[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """`offset` and `positional`."""
    w = _checked(weights)
    *heads, queries, keys = w.shape
    # An offset o is counted in place o + queries − 1, of which there are queries + keys − 1.
    places = queries + keys - 1
    found = w.argmax(axis=-1).reshape(-1, queries) - np.arange(queries) + queries - 1
    starts = np.arange(len(found))[:, None] * places
    counts = np.bincount((found + starts).ravel(), minlength=len(found) * places)
    nearest = np.array(sorted(range(1 - queries, keys), key=lambda o: (abs(o), o)))
    in_order = counts.reshape(-1, places)[:, nearest + queries - 1]
    best = nearest[in_order.argmax(axis=-1)]
    # Row i reaches the offset if 0 ≤ i + offset < keys.
    reach = np.minimum(queries, keys - best) - np.maximum(0, -best)
    return best.reshape(heads), (in_order.max(axis=-1) / reach).reshape(heads)


def _checked(weights: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Weights in float64, where sums of many are exact enough; none above 1."""
    if not weights.size:
        raise ValueError(f"There is nothing to measure in weights of shape {weights.shape}.")
    # Written so that a weight which is no number fails too.
    if not (weights.min() >= 0 and weights.max() <= 1 + 1e-4):
        raise ValueError(
            f"The weights go from {weights.min()} to {weights.max()}; "
            "attention weights lie within 0 and 1."
        )
    checked: npt.NDArray[np.float64] = np.minimum(weights, 1.0, dtype=np.float64)
    return checked


def _column(column: int, count: int) -> int:
    if not -count <= column < count:
        raise ValueError(f"There is no column {column}; the columns are 0 to {count - 1}.")
    return column % count


def _mean(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Over the rows; of a single head an array without dimensions, where numpy gives a number."""
    return np.asarray(rows.mean(axis=-1))
