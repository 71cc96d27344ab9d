"""Where rows of attention have their greatest weight, over a whole corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StrongestKeys:
    """Where every row of the corpus has its greatest weight, one sentence after the other.

    Attributes:
        best: the key's place, (layers, heads, all rows of the corpus).
        query: the row's own place in its sentence.
        n_query, n_key: the size of its sentence.
        sentence: its sentence's number.
    """

    best: npt.NDArray[np.int16]
    query: npt.NDArray[np.int64]
    n_query: npt.NDArray[np.int64]
    n_key: npt.NDArray[np.int64]
    sentence: npt.NDArray[np.int64]

    def offsets(self, layer: int, head: int, far: int | None = None) -> pd.Series:
        """How many rows have their greatest weight at each offset j - i, 0 being the row's own
        place. Rows farther off than `far` are counted there."""
        found = self._offsets(self.best[layer, head], False)
        if far is not None:
            found = found.clip(-far, far)
        return pd.Series(found).value_counts().sort_index().rename("rows")

    def constant(
        self, layer: int, head: int, *, backwards: bool = False
    ) -> tuple[int, float, float]:
        """The most common offset, the share of rows there, and the share that can reach it; with
        `backwards` j is counted from the other end, so that 0 is n - 1 - i.

        A row that cannot reach the offset does not count, as in `measures.positional`; of equally
        common offsets the nearest to 0, then the smaller.
        """
        found = self._offsets(self.best[layer, head], backwards)
        values, counts = np.unique(found, return_counts=True)
        first = np.lexsort((values, np.abs(values), -counts))[0]
        offset, reach = int(values[first]), self._reach(int(values[first]))
        return offset, float(counts[first] / reach.sum()), float(reach.mean())

    def by_sentence(
        self, layer: int, head: int, offset: int, n: int, *, backwards: bool = False
    ) -> tuple[Numbers, Numbers]:
        """The share of rows at `offset`, and how many can reach it, for each of `n` sentences."""
        reach = self._reach(offset)
        hit = self._offsets(self.best[layer, head], backwards) == offset
        rows = np.bincount(self.sentence, weights=reach, minlength=n)
        hits = np.bincount(self.sentence, weights=hit, minlength=n)
        return hits / np.maximum(rows, 1), rows.astype(np.float64)

    def _offsets(self, best: npt.NDArray[np.int16], backwards: bool) -> npt.NDArray[np.int64]:
        place = self.n_key - 1 - best if backwards else best.astype(np.int64)
        return place - self.query

    def _reach(self, offset: int) -> npt.NDArray[np.bool_]:
        reached: npt.NDArray[np.bool_] = (self.query + offset >= 0) & (
            self.query + offset < self.n_key
        )
        return reached
