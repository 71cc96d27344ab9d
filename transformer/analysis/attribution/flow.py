"""Attention flow: the maximum flow from a token to an output, with weights as capacities.

Abnar and Zuidema 2020 (https://arxiv.org/abs/2005.00928), section 3: the positions of all layers
form a graph whose capacities are the matrices r·I + (1 − r)·A of `rollout`, and the flow of a token
is the maximum flow between it and one output position. The flow of each token is computed
separately, so a row of flows does not sum to 1. `joint` combines encoder and decoder in one graph,
in which a decoder layer
has two levels: its self-attention, then its cross-attention.

Parallel paths add up. So in a deep stack a token that many positions attend to reaches almost every
output with its full flow, and rows become similar: over six layers the flow depends more on the
token than on the output.

The maximum flow is computed by Dinic's method on integers (scipy); see `UNIT_CAPACITY` for its
precision. With 18 tokens and 6 layers one output takes 4 ms in the encoder and 11 ms in `joint`,
with 69 tokens 50 and 180 ms, with 460 tokens 12 s.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from transformer.analysis.attribution.rollout import Heads, Stack, matrices, with_residual
from transformer.cancellation import check_cancelled
from transformer.inference.trace import Trace

UNIT_CAPACITY = 2**30
"""The integer that represents a capacity of 1. Rounding lowers a capacity by at most 2^-30, and a
flow by at most that times the number of edges of its minimum cut. scipy uses 32 bits and would
overflow silently; flows stay within 1, because the capacities of a row are rounded so that they sum
to at most 1.
"""

Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]


@dataclass(frozen=True)
class Flows:
    """Flows of some output positions, each 0 to 1, from the source and target tokens."""

    source: Float[np.ndarray, "outputs src"]
    target: Float[np.ndarray, "outputs tgt"]


def encoder(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Float[np.ndarray, "outputs src"]:
    """Return flows between the encoder's outputs at `positions` (default: all) and its tokens.

    `heads` and `residual` are those of `rollout.encoder`. Raises ValueError for a position that
    does not exist, other heads or residual, or weights that the trace lacks.
    """
    return _self_attention_flows(
        with_residual(matrices(trace, "encoder", heads), residual), positions
    )


def decoder(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Float[np.ndarray, "outputs tgt"]:
    """Return flows through the decoder's self-attention only; see `encoder`."""
    return _self_attention_flows(
        with_residual(matrices(trace, "decoder", heads), residual), positions
    )


def joint(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Flows:
    """Return flows between the decoder's outputs and the source and target tokens; see
    `encoder`."""
    n_src, n_tgt = len(trace.src_tokens), len(trace.tgt_tokens)
    below, depth = trace.depth("encoder"), trace.depth("decoder")
    above = (below + 1) * n_src  # the nodes of the encoder come first
    residual_only = residual * np.eye(n_tgt)
    self_attention = with_residual(matrices(trace, "decoder", heads), residual)
    parts = _stack_edges(with_residual(matrices(trace, "encoder", heads), residual), 0)
    parts += _stack_edges(
        np.stack([m for layer in self_attention for m in (layer, residual_only)]), above
    )
    for layer, cross_attention in enumerate(matrices(trace, "cross", heads)):
        level = above + 2 * (layer + 1) * n_tgt
        parts.append(_edges((1 - residual) * cross_attention, level, below * n_src, 1 - residual))
    outputs = above + 2 * depth * n_tgt + _checked_positions(positions, n_tgt)
    inputs = np.concatenate([np.arange(n_src), above + np.arange(n_tgt)])
    flows = _flows(parts, outputs, inputs)
    return Flows(flows[:, :n_src], flows[:, n_src:])


def _self_attention_flows(
    layers: Stack, positions: Iterable[int] | None
) -> Float[np.ndarray, "outputs inputs"]:
    n_layers, n, _ = layers.shape
    return _flows(
        _stack_edges(layers, 0), n_layers * n + _checked_positions(positions, n), np.arange(n)
    )


def _stack_edges(layers: Stack, first_node: int) -> list[Edges]:
    """Return the edges of a stack; position i of level k is node first_node + k·n + i. Level 0 are
    the tokens."""
    n = layers.shape[-1]
    return [_edges(m, first_node + (k + 1) * n, first_node + k * n) for k, m in enumerate(layers)]


def _edges(
    capacity: Float[np.ndarray, "query key"], above: int, below: int, row_limit: float = 1.0
) -> Edges:
    """Return edges from the queries, numbered from `above`, to the keys, numbered from `below`.

    The capacities of one query sum to at most `row_limit`.
    """
    weights = capacity.astype(np.float64)
    excess = np.maximum(weights.sum(axis=-1, keepdims=True) / row_limit, 1.0)
    integers = np.floor(weights / excess * UNIT_CAPACITY).astype(np.int32)
    query, key = integers.nonzero()
    return above + query, below + key, integers[query, key]


def _flows(
    parts: list[Edges], outputs: npt.NDArray[np.int64], inputs: npt.NDArray[np.int64]
) -> Float[np.ndarray, "outputs inputs"]:
    start, end, capacity = (np.concatenate(column) for column in zip(*parts, strict=True))
    size = int(max(start.max(), end.max(), outputs.max(initial=0), inputs.max())) + 1
    graph = csr_array(coo_array((capacity, (start, end)), shape=(size, size)))
    values = np.empty((len(outputs), len(inputs)))
    for index, (output, token) in enumerate(itertools.product(outputs, inputs)):
        check_cancelled()
        values.flat[index] = maximum_flow(graph, output, token).flow_value
    return values / UNIT_CAPACITY


def _checked_positions(positions: Iterable[int] | None, count: int) -> npt.NDArray[np.int64]:
    indices = list(range(count) if positions is None else positions)
    for position in indices:
        if not 0 <= position < count:
            raise ValueError(f"there is no position {position}; the positions are 0 to {count - 1}")
    return np.array(indices, dtype=np.int64)
