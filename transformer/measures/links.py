"""The weight on the words that a word is translated from, where gold links say which."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from transformer.measures.measure import Measure
from transformer.measures.rows import Rows

MISSING_REASON = "they have no gold links; our own have them, yours may, as a third column"


def _links_when_written(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    return rows.none if rows.linked is None else rows.linked


def _links_when_read(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
    """A row later: when the word has just been read."""
    written = _links_when_written(rows)
    shifted = np.zeros_like(written)
    shifted[:, 1:] = written[:, :-1]
    return shifted


MEASURES = (
    Measure(
        "aligned",
        "What it is about to write",
        "The weight on the words that a word is translated from, where gold links say which (rows "
        "that write it).",
        lambda attention: attention.on(attention.rows.cached(_links_when_written)),
        kinds=("cross",),
        counts=lambda rows: rows.with_any(_links_when_written),
        group="translation",
        missing_reason=MISSING_REASON,
    ),
    Measure(
        "aligned_input",
        "What was just written",
        "The same from the rows that have just read the word: a head that looks for what was "
        "written, not for what to write (Chen et al. 2020, section 3).",
        lambda attention: attention.on(attention.rows.cached(_links_when_read)),
        kinds=("cross",),
        counts=lambda rows: rows.with_any(_links_when_read),
        group="translation",
        missing_reason=MISSING_REASON,
    ),
)
