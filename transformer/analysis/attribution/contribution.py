"""Every weight of one head beside what it moves: norm, gradient, gradient × weight, their ranks.

    found = contribution(model, trace, "cross", 5, 3, gradients(model, trace))
    found.to_frame(), found.correlations()

Four answers to "how much does this cell matter?", each of another kind, so only their order is
compared: Spearman's rank correlation, by size where a number has a sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Bool, Float

from transformer.analysis.attribution.gradients import Gradients
from transformer.analysis.attribution.norms import contributions
from transformer.cancellation import check_cancelled
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer

QUANTITIES = ("weight", "norm", "gradient", "product")


@dataclass(frozen=True, eq=False)
class Contribution:
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

    def correlations(self) -> dict[tuple[str, str], float]:
        """Spearman's rank correlation of the sizes of every two, over the open cells; NaN where
        one is the same in all cells. `found.correlations()["weight", "norm"]`."""
        sizes = pd.DataFrame({name: np.abs(of[self.open]) for name, of in self.values.items()})
        ranked = sizes.corr(method="spearman").to_numpy()
        pairs = itertools.combinations(range(len(self.values)), 2)
        names = list(self.values)
        return {(names[a], names[b]): float(ranked[a, b]) for a, b in pairs}

    def apart(self, one: str, other: str) -> tuple[int, int]:
        """The query and the key where these two differ most, each size taken as a share of the
        greatest of its kind. (Ranks would send one to the many cells where nothing is.)"""
        sizes = [np.abs(self.values[name]) * self.open for name in (one, other)]
        parts = [size / (size.max() or 1.0) for size in sizes]
        query, key = divmod(int(np.abs(parts[0] - parts[1]).argmax()), len(self.columns))
        return query, key


def contribution(
    model: Transformer,
    trace: Trace,
    kind: str,
    layer: int,
    head: int,
    slopes: Gradients | None = None,
) -> Contribution:
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
    values = {"weight": weights[head], "norm": contributions(model, trace, kind, layer)[head]}
    if slopes is not None:
        values["gradient"] = slopes.weights[kind][layer, head]
        values["product"] = slopes.times_weight[kind][layer, head]
    rows, columns = trace.labels(kind)
    writes = None if kind == "encoder" else trace.predicted_tokens
    return Contribution((kind, layer, head), rows, columns, writes, values)


def agreement(model: Transformer, trace: Trace) -> pd.DataFrame:
    """In which heads do weights and norms part? A line a head, the least agreement first.

    Columns: kind, layer, head, and correlation, that of weights and norms over the head's cells as
    in `Contribution.correlations`; heads without one are left out. Errors as of `contribution`.
    """
    lines = []
    for kind, layer in itertools.product(WEIGHTS, range(trace.n_layers)):
        check_cancelled()
        weights, norms = trace.weights(kind, layer), contributions(model, trace, kind, layer)
        cells = np.tril_indices(weights.shape[1]) if kind == "decoder" else (slice(None),) * 2
        rows = [of[:, *cells].reshape(len(of), -1) for of in (weights, norms)]
        for head, found in enumerate(rank_correlations(*rows).tolist()):
            if not math.isnan(found):
                lines.append((kind, layer, head, found))
    table = pd.DataFrame(lines, columns=["kind", "layer", "head", "correlation"])
    return table.sort_values("correlation", kind="stable", ignore_index=True)


def rank_correlations(
    a: Float[np.ndarray, "*many row column"], b: Float[np.ndarray, "*rows column"]
) -> Float[np.ndarray, "*many row"]:
    """Spearman's of each row of `a` and that of `b`, which may be the same for many; equal values
    share the mean of their ranks. NaN where a row is constant. Spearman 1904.
    """
    x, y = _centred_ranks(a), _centred_ranks(b)
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.float64] = (x * y).sum(-1) / np.sqrt(
            (x * x).sum(-1) * (y * y).sum(-1)
        )
    return found


def _centred_ranks(values: Float[np.ndarray, "*rows column"]) -> Float[np.ndarray, "*rows column"]:
    # By pandas, which the app has loaded anyway: scipy.stats takes half a second and 70 MB.
    rows = pd.DataFrame(values.reshape(-1, values.shape[-1]))
    ranks = rows.rank(axis=1).to_numpy().reshape(values.shape)
    return np.asarray(ranks - ranks.mean(axis=-1, keepdims=True))
