"""How spread, how far, how decided: what is true of a row whatever its tokens are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.measures.measure import Measure, checked_weights, column_index, mean

Weights = Float[np.ndarray, "*heads query key"]


def entropy(weights: Weights) -> Float[np.ndarray, "*heads"]:
    """How spread: −Σ w · log2 w, in bits. 0 is all on one key, log2(n) even over n.

    Clark et al. 2019, section 3.3 (https://arxiv.org/abs/1906.04341), there in nats.
    """
    return mean(_entropies(checked_weights(weights)))


def distance(weights: Weights) -> Float[np.ndarray, "*heads"]:
    """How far: Σ w · |i − j| from query i to key j, in tokens.

    The attention distance of Vig and Belinkov 2019 (https://arxiv.org/abs/1906.04284). It is meant
    for self-attention; in cross attention i and j count the tokens of two languages, and the
    number says how far a head is from the diagonal, not how far apart two words are.
    """
    return mean(_distances(checked_weights(weights)))


def confidence(weights: Weights, skip: Collection[int] = ()) -> Float[np.ndarray, "*heads"]:
    """A row's greatest weight, 0 to 1, where the columns `skip` do not count; −1 is the last.

    Voita et al. 2019, section 4, leave out `</s>`, which is no real token. 0 if no column is left.

    Raises:
        ValueError: also for a column that is not there.
    """
    w = checked_weights(weights)
    left_out = [column_index(column, w.shape[-1]) for column in skip]
    return mean(np.delete(w, left_out, axis=-1).max(axis=-1, initial=0.0))


def _entropies(w: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # A weight is at most 1, so its logarithm is never positive; abs leaves no −0 behind.
    logarithms = np.log2(w, out=np.zeros_like(w), where=w > 0)
    return np.asarray(np.einsum("...k,...k->...", w, np.abs(logarithms, out=logarithms)))


def _distances(w: npt.NDArray[Any]) -> npt.NDArray[Any]:
    i, j = np.arange(w.shape[-2])[:, None], np.arange(w.shape[-1])
    return np.asarray(np.einsum("...qk,qk->...q", w, np.abs(i - j).astype(w.dtype)))


MEASURES = (
    Measure(
        "entropy",
        "Spread (entropy)",
        "How spread, in bits: 0 is all on one token, each bit more is twice as many (Clark et al. "
        "2019, section 3.3).",
        lambda attention: _entropies(attention.w),
        unit="bits",
        group="shape",
    ),
    Measure(
        "distance",
        "Distance",
        "How many tokens away, as a mean over the weights (Vig and Belinkov 2019); between two "
        "languages, how far from the diagonal.",
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
