"""The share of rows that attend most to the rarest token of the sentence."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from transformer.measures.measure import Measure, PublishedClaim
from transformer.measures.rows import Rows

FREQUENT = 500
"""Number of most frequent tokens that never count as rare."""


def _rarest(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    if rows.rarity is None:
        return rows.none
    rarity = np.where(rows.words, rows.rarity[rows.key][:, None], -(2**62))
    return np.asarray(rarity == rarity.max(axis=-1, keepdims=True))


def _has_rare(rows: Rows) -> Bool[np.ndarray, "sentences query"]:
    if rows.rare is None:
        return np.zeros_like(rows.real)
    return np.asarray((rows.cached(_rarest) & rows.rare[rows.key][:, None]).any(axis=-1))


MEASURES = (
    Measure(
        "rare",
        "Rarest token",
        "The share of rows with their greatest weight (without </s>) on the rarest token of the "
        f"sentence, where that is not one of the {FREQUENT} most frequent (Voita et al. 2019, "
        "section 5.3).",
        lambda attention: attention.greatest_on(attention.rows.cached(_rarest)),
        kinds=("encoder",),
        counts=_has_rare,
        missing_reason=(
            f"none has a token beyond the {FREQUENT} most frequent of this model's vocabulary"
        ),
        claim=PublishedClaim(
            "A head of the lowest encoder layer attends to the rarest token of the sentence.",
            "Voita et al. 2019, section 5.3",
            floor=0.5,
            layer=0,
        ),
    ),
)
