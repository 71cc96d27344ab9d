"""The weight on certain tokens: sentence ends, punctuation, the same word."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from transformer.measures.measure import Measure, all_rows, checked_weights, column_index, mean
from transformer.measures.rows import Rows


def share(
    weights: Float[np.ndarray, "*heads query key"], column: int
) -> Float[np.ndarray, "*heads"]:
    """Return the mean weight on one column, 0 to 1: column 0 is the first key, −1 the last.

    `<s>` and `</s>` are common attention sinks: Clark et al. 2019, section 3.2.

    Raises:
        ValueError: for invalid weights or a column out of range.
    """
    w = checked_weights(weights)
    return mean(w[..., column_index(column, w.shape[-1])])


def _last(rows: Rows) -> Bool[np.ndarray, "sentences 1 key"]:
    return np.asarray(rows.j == (rows.n_key - 1)[:, None])[:, None]


def _punctuation(rows: Rows) -> Bool[np.ndarray, "sentences 1 key"]:
    return np.asarray(rows.pieces.punctuation[rows.key])[:, None]


def _delimiters(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    return np.asarray((rows.visible & ~rows.words) | _punctuation(rows))


def _same(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    """Columns with the same word as the row; in self-attention without its own position."""
    row_tokens = rows.writes if rows.kind == "cross" else rows.query
    same = (row_tokens[:, :, None] == rows.key[:, None]) & rows.visible
    same &= (
        rows.pieces.whole_words(row_tokens)[:, :, None] & rows.pieces.whole_words(rows.key)[:, None]
    )
    return same if rows.kind == "cross" else np.asarray(same & (rows.i != rows.j))


MEASURES = (
    Measure(
        "first",
        "First token",
        "The weight on the first token, a common attention sink (Clark et al. 2019, section 3.2).",
        lambda attention: attention.w[..., 0],
    ),
    Measure(
        "last",
        "Last token",
        "The weight on the last token, in the source </s>, a common attention sink (Clark et al. "
        "2019, section 3.2).",
        lambda attention: attention.on(attention.rows.cached(_last)),
    ),
    Measure(
        "punctuation",
        "Punctuation",
        "The weight on punctuation, except apostrophes and hyphens.",
        lambda attention: attention.on(attention.rows.cached(_punctuation)),
    ),
    Measure(
        "delimiters",
        "Punctuation, start, end",
        "The weight on punctuation, <s> and </s> together.",
        lambda attention: attention.on(attention.rows.cached(_delimiters)),
        # The decoder's first row has only one key.
        counts=lambda rows: (
            all_rows(rows) & (rows.i[:, 0] > 0) if rows.kind == "decoder" else all_rows(rows)
        ),
    ),
    Measure(
        "duplicate",
        "Same token",
        "If the row's word occurs elsewhere too (in the decoder: earlier), the weight on it there; "
        "in cross-attention, the weight on source occurrences of the word that the row writes. "
        "Only tokens that are whole words count, not punctuation or parts of words.",
        lambda attention: attention.on(attention.rows.cached(_same)),
        counts=lambda rows: rows.with_any(_same),
    ),
)
