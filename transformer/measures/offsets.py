"""The share of rows with their greatest weight at the head's most common offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from transformer.measures.measure import Measure, checked_weights
from transformer.measures.rows import RowWeights


def positional(weights: Float[np.ndarray, "*heads query key"]) -> Float[np.ndarray, "*heads"]:
    """Return the share of rows, 0 to 1, with their greatest weight at `offset(weights)`.

    Voita et al. 2019, section 5.1 (https://arxiv.org/abs/1905.09418), call a head positional if the
    share over a set of sentences is at least 0.9; the offsets they find are −1 and +1. Here, for
    one sentence, rows that cannot reach the offset (row 0 has no key at −1) do not count: a head
    that always attends to the previous token has 1, not (n − 1) / n. The drawback is that short
    sentences easily reach a high share: two tokens that attend to each other give 1.
    """
    return _most_common(weights)[1]


def offset(weights: Float[np.ndarray, "*heads query key"]) -> Integer[np.ndarray, "*heads"]:
    """Return the most common offset j − i of a row's greatest weight; −1 is the previous token.
    Ties go to the offset nearest to 0, then the smaller one; in a row, to the first key."""
    return _most_common(weights)[0]


def _most_common(
    weights: Float[np.ndarray, "*heads query key"],
) -> tuple[Integer[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """Return `offset` and `positional`."""
    w = checked_weights(weights)
    *heads, queries, keys = w.shape
    # Offset o is counted in bin o + queries − 1 of queries + keys − 1 bins.
    n_offsets = queries + keys - 1
    bins = w.argmax(axis=-1).reshape(-1, queries) - np.arange(queries) + queries - 1
    starts = np.arange(len(bins))[:, None] * n_offsets
    counts = np.bincount((bins + starts).ravel(), minlength=len(bins) * n_offsets)
    nearest = np.array(sorted(range(1 - queries, keys), key=lambda o: (abs(o), o)))
    ordered_counts = counts.reshape(-1, n_offsets)[:, nearest + queries - 1]
    most_common = nearest[ordered_counts.argmax(axis=-1)]
    # Row i reaches the offset if 0 ≤ i + offset < keys.
    reachable_rows = np.minimum(queries, keys - most_common) - np.maximum(0, -most_common)
    return most_common.reshape(heads), (ordered_counts.max(axis=-1) / reachable_rows).reshape(heads)


def _no_row_values(attention: RowWeights) -> Float[np.ndarray, "sentences heads query"]:
    raise TypeError("a share of rows at one offset is not a mean of row values; use `means`")


@dataclass(frozen=True)
class OffsetShare(Measure):
    """The share of rows at the head's most common offset.

    Attributes:
        offset: column name of the offset in tables.
        backwards: whether columns are counted from the end of the sentence.
    """

    offset: str = ""
    backwards: bool = False

    def means(self, attention: RowWeights) -> Float[np.ndarray, "sentences heads"]:
        """Return the share for each sentence with its own offset."""
        return np.stack([positional(w) for w in self.windows(attention)])

    def windows(self, attention: RowWeights) -> list[Float[np.ndarray, "heads query key"]]:
        """Return each sentence's weights without padding, with reversed keys if `backwards`."""
        sizes = zip(attention.w, attention.rows.n_query, attention.rows.n_key, strict=True)
        windows = (w[:, :n_query, :n_key] for w, n_query, n_key in sizes)
        return [w[..., ::-1] if self.backwards else w for w in windows]


MEASURES = (
    OffsetShare(
        "positional",
        "Fixed offset",
        "The share of rows with their greatest weight at the head's most common offset (Voita et "
        "al. 2019, section 5.1); rows that cannot reach it do not count.",
        _no_row_values,
        group="position",
        offset="offset",
    ),
    OffsetShare(
        "backwards",
        "Fixed offset from the end",
        "The share of rows with their greatest weight at the head's most common offset, counted "
        "from the other end of the sentence.",
        _no_row_values,
        kinds=("encoder", "cross"),  # the decoder would look into the future
        group="position",
        offset="backwards_offset",
        backwards=True,
    ),
)
