"""The weights of one head with their norms, gradients and gradient × weight, and rank correlations.

    result = contribution(model, trace, "cross", 5, 3, gradients(model, trace))
    result.to_frame(), result.correlations()

The four quantities have different units, so only their order is compared: by Spearman's rank
correlation of absolute values.
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
from transformer.measures.kinds import AttentionKind, Head
from transformer.model import Transformer

QUANTITIES = ("weight", "norm", "gradient", "product")


@dataclass(frozen=True, eq=False)
class Contribution:
    """The quantities of one head in one sentence.

    Attributes:
        head: (kind, layer, head).
        rows, columns: tokens of the queries and of the keys.
        writes: the token that each query's position predicts; None for the encoder.
        values: by name of `QUANTITIES`, (query, key) each: the weight α, the norm ‖α·f(x)‖, the
            gradient ∂ log p / ∂α in nats, and the gradient times the weight. The last two are
            missing if no gradients were given.
    """

    head: Head
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    writes: tuple[str, ...] | None
    values: Mapping[str, Float[np.ndarray, "query key"]]

    @property
    def unmasked(self) -> Bool[np.ndarray, "query key"]:
        """The cells that the mask allows."""
        ones = np.ones((len(self.rows), len(self.columns)), dtype=bool)
        return np.tril(ones) if self.head[0] == "decoder" else ones

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each cell that the mask allows.

        Columns: query_position, query_token, [writes_token,] key_position, key_token, and those of
            `values`.
        """
        query, key = np.nonzero(self.unmasked)
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
        """Return Spearman's rank correlation of the absolute values of every pair of quantities.

        Only unmasked cells count. NaN if a quantity is constant. Use as
        `result.correlations()["weight", "norm"]`.
        """
        sizes = pd.DataFrame(
            {name: np.abs(values[self.unmasked]) for name, values in self.values.items()}
        )
        ranked = sizes.corr(method="spearman").to_numpy()
        pairs = itertools.combinations(range(len(self.values)), 2)
        names = list(self.values)
        return {(names[a], names[b]): float(ranked[a, b]) for a, b in pairs}

    def largest_disagreement(self, first: str, second: str) -> tuple[int, int]:
        """Return the query and key where two quantities differ most.

        Each quantity is divided by its largest value. (By ranks, the result would mostly be one of
        the many cells near 0.)
        """
        sizes = [np.abs(self.values[name]) * self.unmasked for name in (first, second)]
        parts = [size / (size.max() or 1.0) for size in sizes]
        query, key = divmod(int(np.abs(parts[0] - parts[1]).argmax()), len(self.columns))
        return query, key


def contribution(
    model: Transformer,
    trace: Trace,
    kind: AttentionKind,
    layer: int,
    head: int,
    gradients: Gradients | None = None,
) -> Contribution:
    """Return the quantities of one head.

    Args:
        kind: "encoder", "decoder" or "cross"; layer and head from 0, as in `trace.weights`.
        gradients: the result of `gradients.gradients(model, trace)`, of one output token or of all;
            None omits the gradients.

    Raises:
        ValueError: for a head that does not exist, a trace of another model, or a head that a hook
            replaced (see `norms.vectors`).
        KeyError: for a trace without the values.
    """
    weights = trace.weights(kind, layer)
    if not 0 <= head < len(weights):
        raise ValueError(f"there is no head {head}; the heads are 0 to {len(weights) - 1}")
    values = {"weight": weights[head], "norm": contributions(model, trace, kind, layer)[head]}
    if gradients is not None:
        values["gradient"] = gradients.weights[kind][layer, head]
        values["product"] = gradients.times_weight[kind][layer, head]
    rows, columns = trace.labels(kind)
    writes = None if kind == "encoder" else trace.predicted_tokens
    return Contribution((kind, layer, head), rows, columns, writes, values)


def agreement(model: Transformer, trace: Trace) -> pd.DataFrame:
    """Return the rank correlation of weights and norms of every head, the lowest first.

    Columns: kind, layer, head, and correlation over the head's cells as in
    `Contribution.correlations`; heads without one are left out. Raises the errors of
    `contribution`.
    """
    records = []
    for kind, layer in itertools.product(WEIGHTS, range(trace.n_layers)):
        check_cancelled()
        weights, norms = trace.weights(kind, layer), contributions(model, trace, kind, layer)
        cells = np.tril_indices(weights.shape[1]) if kind == "decoder" else (slice(None),) * 2
        rows = [values[:, *cells].reshape(len(values), -1) for values in (weights, norms)]
        for head, correlation in enumerate(rank_correlations(*rows).tolist()):
            if not math.isnan(correlation):
                records.append((kind, layer, head, correlation))
    table = pd.DataFrame(records, columns=["kind", "layer", "head", "correlation"])
    return table.sort_values("correlation", kind="stable", ignore_index=True)


def rank_correlations(
    a: Float[np.ndarray, "*many row column"], b: Float[np.ndarray, "*rows column"]
) -> Float[np.ndarray, "*many row"]:
    """Return Spearman's rank correlation of each row of `a` with that of `b` (Spearman 1904).

    `b` may be shared by many rows of `a`. Equal values share the mean of their ranks. NaN for a
    constant row.
    """
    x, y = _centred_ranks(a), _centred_ranks(b)
    with np.errstate(invalid="ignore"):
        correlations: npt.NDArray[np.float64] = (x * y).sum(-1) / np.sqrt(
            (x * x).sum(-1) * (y * y).sum(-1)
        )
    return correlations


def _centred_ranks(values: Float[np.ndarray, "*rows column"]) -> Float[np.ndarray, "*rows column"]:
    # Uses pandas, which the app loads anyway: scipy.stats takes half a second and 70 MB.
    rows = pd.DataFrame(values.reshape(-1, values.shape[-1]))
    ranks = rows.rank(axis=1).to_numpy().reshape(values.shape)
    return np.asarray(ranks - ranks.mean(axis=-1, keepdims=True))
