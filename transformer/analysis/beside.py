"""Every weight of one head beside what it moves: norm, gradient, gradient × weight, and their ranks.

    found = beside(model, trace, "cross", 5, 3, gradients(model, trace))
    found.to_frame(), found.correlations()

Four answers to "how much does this cell matter?", each of another kind, so only their order is
compared: Spearman's rank correlation, by size where a number has a sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from transformer.analysis.gradients import Gradients
from transformer.analysis.norms import moved
from transformer.inference.trace import Trace
from transformer.model import Transformer

QUANTITIES = ("weight", "norm", "gradient", "product")


@dataclass(frozen=True, eq=False)
class Beside:
    """One head of one sentence.

    Attributes:
        head: (kind, layer, head).
        rows, columns: tokens of the queries and of the keys.
        writes: what each query goes on to write; None for the encoder.
        values: by name of `QUANTITIES`, (query, key) each: the weight α, the norm ‖α·f(x)‖, the
            gradient ∂ log p / ∂α in nats, and the gradient times the weight. Without the last two
            if there were no gradients.
    """

    head: tuple[str, int, int]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    writes: tuple[str, ...] | None
    values: Mapping[str, Float[np.ndarray, "query key"]]

    @property
    def open(self) -> Bool[np.ndarray, "query key"]:
        """The cells that the mask leaves open."""
        every = np.ones((len(self.rows), len(self.columns)), dtype=bool)
        return np.tril(every) if self.head[0] == "decoder" else every

    def to_frame(self) -> pd.DataFrame:
        """A line for each cell that the mask leaves open.

        Columns: query_position, query_token, [writes_token,] key_position, key_token, and those
        of `values`.
        """
        query, key = np.nonzero(self.open)
        table = pd.DataFrame(
            {"query_position": query, "query_token": np.array(self.rows, dtype=object)[query]}
        )
        if self.writes is not None:
            table["writes_token"] = np.array(self.writes, dtype=object)[query]
        table["key_position"] = key
        table["key_token"] = np.array(self.columns, dtype=object)[key]
        for name, values in self.values.items():
            table[name] = values[query, key]
        return table

    def correlations(self) -> pd.DataFrame:
        """Spearman's rank correlation of the sizes of every two, over the open cells; NaN where
        one is the same in all cells."""
        sizes = pd.DataFrame({name: np.abs(of[self.open]) for name, of in self.values.items()})
        return sizes.corr(method="spearman")


def beside(
    model: Transformer,
    trace: Trace,
    kind: str,
    layer: int,
    head: int,
    slopes: Gradients | None = None,
) -> Beside:
    """Put them side by side for one head.

    Args:
        kind: "encoder", "decoder" or "cross"; layer and head from 0, as in `trace.weights`.
        slopes: `gradients(model, trace)`, of one output token or of all; None leaves them out.

    Raises:
        ValueError: for a head that is not there, a trace of another model, or a head that a hook
            replaced (see `norms.vectors`).
        KeyError: for a trace without the values.
    """
    weights = trace.weights(kind, layer)
    if not 0 <= head < len(weights):
        raise ValueError(f"there is no head {head}; the heads are 0 to {len(weights) - 1}")
    values = {"weight": weights[head], "norm": moved(model, trace, kind, layer)[head]}
    if slopes is not None:
        values["gradient"] = slopes.weights[kind][layer, head]
        values["product"] = slopes.times_weight[kind][layer, head]
    rows, columns = trace.labels(kind)
    writes = None if kind == "encoder" else trace.predicted_tokens
    return Beside((kind, layer, head), rows, columns, writes, values)
