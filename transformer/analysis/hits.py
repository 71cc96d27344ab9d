"""What each sentence adds to an aligner's error rate: what a bootstrap draws from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Counts = Float[np.ndarray, "2 sentence"]
"""Links found that are sure, and that are possible, of every sentence."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Hits of every aligner.

    Attributes:
        heads: by way, as ("weights", "output"): the last of the heads is all of a layer together.
        diagonal, chance: of the two that need no model; of chance what it gives on average.
        n_found, n_sure: how many links an aligner finds, one a target word, and how many are sure.
    """

    heads: Mapping[tuple[str, str], Float[np.ndarray, "2 layer head sentence"]]
    diagonal: Counts
    chance: Counts
    n_found: Float[np.ndarray, "sentence"]
    n_sure: Float[np.ndarray, "sentence"]

    def rates(self, counts: Counts) -> dict[str, float]:
        """AER, precision and recall over all sentences (Och and Ney 2003, section 6)."""
        (sure, possible), n_sure = counts.sum(axis=1), self.n_sure.sum()
        return {
            "aer": float(self.errors(counts, np.ones((1, len(self.n_sure))))[0]),
            "precision": float(possible / self.n_found.sum()),
            "recall": float(sure / n_sure) if n_sure else float("nan"),
        }

    def errors(
        self, counts: Counts, drawn: Float[np.ndarray, "draw sentence"]
    ) -> Float[np.ndarray, "draw"]:
        """AER of corpora that hold each sentence as often as `drawn` says."""
        return np.asarray(1 - (drawn @ counts.sum(axis=0)) / (drawn @ (self.n_found + self.n_sure)))
