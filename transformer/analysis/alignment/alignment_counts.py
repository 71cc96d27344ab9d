"""What each sentence adds to an aligner's error rate: what a bootstrap draws from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer.analysis.evidence.bootstrap import Drawn

Counts = Float[np.ndarray, "3 sentence"]
"""A row each: links found that are sure, that are possible, and all found; a column a sentence."""


@dataclass(frozen=True, eq=False)
class AlignmentCounts:
    """Hits of every aligner.

    Attributes:
        heads: by way, as ("weights", "output"): the last of the heads is all of a layer together.
        rivals: of those that need no model, by name: "diagonal"; "chance", what it gives on
            average; "statistical".
        n_sure: how many links are sure.
    """

    heads: Mapping[tuple[str, str], Float[np.ndarray, "3 layer head sentence"]]
    rivals: Mapping[str, Counts]
    n_sure: Float[np.ndarray, "sentence"]

    def rates(self, counts: Counts) -> dict[str, float]:
        """AER, precision and recall over all sentences (Och and Ney 2003, section 6)."""
        (sure, possible, found), n_sure = counts.sum(axis=1), self.n_sure.sum()
        return {
            "aer": float(1 - (sure + possible) / (found + n_sure)) if found + n_sure else np.nan,
            "precision": float(possible / found) if found else np.nan,
            "recall": float(sure / n_sure) if n_sure else np.nan,
        }

    def drawn(self, aligners: Sequence[Counts]) -> Drawn:
        """1 − AER of some aligners, of this corpus and of drawn ones: the greatest is the best."""
        counts = np.stack(aligners)
        return Drawn.rates(counts[:, :2].sum(axis=1), counts[:, 2] + self.n_sure)
