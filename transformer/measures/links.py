"""The weight on the source words that a target word is aligned with, given gold links."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from transformer.measures.measure import Measure
from transformer.measures.rows import Rows

MISSING_REASON = (
    "they have no gold links; use the bundled sentences, or add links as a third column"
)


def _links_when_written(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    return rows.none if rows.linked is None else rows.linked


def _links_when_read(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    """The links of the token at each row's input: those of the row before."""
    written = _links_when_written(rows)
    shifted = np.zeros_like(written)
    shifted[:, 1:] = written[:, :-1]
    return shifted


MEASURES = (
    Measure(
        "aligned",
        "Source of the predicted word",
        "The weight on the source words that gold links align with the word that the row predicts.",
        lambda attention: attention.on(attention.rows.cached(_links_when_written)),
        kinds=("cross",),
        counts=lambda rows: rows.with_any(_links_when_written),
        group="translation",
        missing_reason=MISSING_REASON,
    ),
    Measure(
        "aligned_input",
        "Source of the word just read",
        "The weight on the source words that gold links align with the word that the row has just "
        "read: the head aligns the decoder's input, not its output (Chen et al. 2020, section 3).",
        lambda attention: attention.on(attention.rows.cached(_links_when_read)),
        kinds=("cross",),
        counts=lambda rows: rows.with_any(_links_when_read),
        group="translation",
        missing_reason=MISSING_REASON,
    ),
)
