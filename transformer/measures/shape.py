"""Entropy, distance and confidence: measures that do not depend on the tokens."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.measures.measure import Measure, checked_weights, column_index, mean

Weights = Float[np.ndarray, "*heads query key"]


def entropy(weights: Weights) -> Float[np.ndarray, "*heads"]:
    """Return the entropy −Σ w · log2 w in bits: 0 for a single key, log2(n) for n equal weights.

    Clark et al. 2019, section 3.3 (https://arxiv.org/abs/1906.04341), there in nats.
    """
    return mean(_entropies(checked_weights(weights)))


def distance(weights: Weights) -> Float[np.ndarray, "*heads"]:
    """Return the mean distance Σ w · |i − j| from query i to key j, in tokens.

    The attention distance of Vig and Belinkov 2019 (https://arxiv.org/abs/1906.04284). It is meant
    for self-attention; in cross-attention i and j are positions in two languages, and the value is
    the distance from the diagonal, not between two words.
    """
    return mean(_distances(checked_weights(weights)))


def confidence(weights: Weights, skip: Collection[int] = ()) -> Float[np.ndarray, "*heads"]:
    """Return the mean of the rows' greatest weights, 0 to 1, without the columns `skip` (−1: last).

    Voita et al. 2019, section 4, leave out `</s>`, which is not a real token. 0 if no column
    remains.

    Raises:
        ValueError: for invalid weights or a column out of range.
    """
    w = checked_weights(weights)
    skipped_columns = [column_index(column, w.shape[-1]) for column in skip]
    return mean(np.delete(w, skipped_columns, axis=-1).max(axis=-1, initial=0.0))


def _entropies(w: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Logarithms of weights are at most 0; abs also avoids −0.
    logarithms = np.log2(w, out=np.zeros_like(w), where=w > 0)
    return np.asarray(np.einsum("...k,...k->...", w, np.abs(logarithms, out=logarithms)))


def _distances(w: npt.NDArray[Any]) -> npt.NDArray[Any]:
    i, j = np.arange(w.shape[-2])[:, None], np.arange(w.shape[-1])
    return np.asarray(np.einsum("...qk,qk->...q", w, np.abs(i - j).astype(w.dtype)))


def clearest_head(weights: Float[np.ndarray, "layers heads query key"]) -> tuple[int, int]:
    """Return layer and head with the sharpest pattern: the largest mean over columns of a column's
    greatest weight. It only chooses which head a view opens first; `client/trace/explorer-data.js`
    does the same."""
    sharpness = weights.astype(np.float32).max(axis=2).mean(axis=2)
    layer, head = np.unravel_index(int(sharpness.argmax()), sharpness.shape)
    return int(layer), int(head)


MEASURES = (
    Measure(
        "entropy",
        "Entropy",
        "The entropy of a row in bits: 0 if one token has all of the weight; n bits for uniform "
        "attention to 2ⁿ tokens (Clark et al. 2019, section 3.3).",
        lambda attention: _entropies(attention.w),
        unit="bits",
        group="shape",
    ),
    Measure(
        "distance",
        "Distance",
        "The mean distance in tokens between query and key, weighted by attention (Vig and "
        "Belinkov 2019); in cross-attention, the distance from the diagonal.",
        lambda attention: _distances(attention.w),
        unit="tokens",
        group="shape",
    ),
    Measure(
        "confidence",
        "Confidence",
        "The greatest weight on a token that is not <s> or </s> (Voita et al. 2019, section 4).",
        lambda attention: attention.greatest,
        group="shape",
    ),
)
