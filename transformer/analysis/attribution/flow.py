"""Attention flow: how much can pass from a token to an output, if each weight is a pipe's width.

Abnar and Zuidema 2020 (https://arxiv.org/abs/2005.00928), section 3: the positions of all layers
are a graph, the matrices r·I + (1 − r)·A of `rollout` are its capacities, and the flow of a token
is the most that can run between it and one output position. Each token is asked alone, so a row
of flows does not sum to 1. `joint` puts encoder and decoder into one graph, in which a decoder
layer is two levels: its self-attention, then its cross attention.

Pipes in parallel add up, so a deep stack lets all of a well-read token through to any output, and
rows grow alike: of six layers the flow says more about the tokens than about the output.

The most is found by Dinic's method on whole numbers (scipy); see `ONE` for how exact it is. With
18 tokens and 6 layers one output takes 4 ms in the encoder and 11 ms in `joint`, with 69 tokens 50
and 180, with 460 tokens 12 s.
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

from transformer.analysis.attribution.rollout import Heads, Stack, kept, matrices
from transformer.cancellation import check_cancelled
from transformer.inference.trace import Trace

ONE = 2**30
"""The whole number that stands for a capacity of 1. An edge is too narrow by 2^-30 at most, beside
the float's own rounding, and a flow by that times the edges of its narrowest cut. scipy counts in
32 bits and would wrap around without a word; no flow is above 1, because no row of whole numbers
is, whatever a row of floats comes to."""

Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]


@dataclass(frozen=True)
class Flows:
    """Flows of some output positions, each 0 to 1: `source` and `target` are their tokens."""

    source: Float[np.ndarray, "outputs src"]
    target: Float[np.ndarray, "outputs tgt"]


def encoder(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Float[np.ndarray, "outputs src"]:
    """Flows between the encoder's outputs at `positions` (all if left out) and its tokens.

    `heads` and `residual` are those of `rollout.encoder`. Raises ValueError for a position that is
    not there, other heads or residual, or weights that the trace lacks.
    """
    return _alone(kept(matrices(trace, "encoder", heads), residual), positions)


def decoder(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Float[np.ndarray, "outputs tgt"]:
    """Flows through the decoder's self-attention alone; see `encoder`."""
    return _alone(kept(matrices(trace, "decoder", heads), residual), positions)


def joint(
    trace: Trace,
    positions: Iterable[int] | None = None,
    heads: Heads = "mean",
    residual: float = 0.5,
) -> Flows:
    """Flows between the decoder's outputs and the tokens of source and target; see `encoder`."""
    n_src, n_tgt = len(trace.src_tokens), len(trace.tgt_tokens)
    below, depth = trace.depth("encoder"), trace.depth("decoder")
    above = (below + 1) * n_src  # the nodes of the encoder come first
    stay = residual * np.eye(n_tgt)
    within = kept(matrices(trace, "decoder", heads), residual)
    parts = _ladder(kept(matrices(trace, "encoder", heads), residual), 0)
    parts += _ladder(np.stack([m for layer in within for m in (layer, stay)]), above)
    for layer, across in enumerate(matrices(trace, "cross", heads)):
        level = above + 2 * (layer + 1) * n_tgt
        parts.append(_edges((1 - residual) * across, level, below * n_src, 1 - residual))
    outputs = above + 2 * depth * n_tgt + _checked(positions, n_tgt)
    inputs = np.concatenate([np.arange(n_src), above + np.arange(n_tgt)])
    found = _flows(parts, outputs, inputs)
    return Flows(found[:, :n_src], found[:, n_src:])


def _alone(layers: Stack, positions: Iterable[int] | None) -> Float[np.ndarray, "outputs inputs"]:
    n_layers, n, _ = layers.shape
    return _flows(_ladder(layers, 0), n_layers * n + _checked(positions, n), np.arange(n))


def _ladder(layers: Stack, first: int) -> list[Edges]:
    """Edges down a stack; position i of level k is node first + k·n + i, tokens are level 0."""
    n = layers.shape[-1]
    return [_edges(m, first + (k + 1) * n, first + k * n) for k, m in enumerate(layers)]


def _edges(
    capacity: Float[np.ndarray, "query key"], above: int, below: int, most: float = 1.0
) -> Edges:
    """From the queries, numbered from `above` on, to the keys, from `below` on; a query's come to
    `most` together, or less."""
    exact = capacity.astype(np.float64)
    past = np.maximum(exact.sum(axis=-1, keepdims=True) / most, 1.0)
    whole = np.floor(exact / past * ONE).astype(np.int32)
    query, key = whole.nonzero()
    return above + query, below + key, whole[query, key]


def _flows(
    parts: list[Edges], outputs: npt.NDArray[np.int64], inputs: npt.NDArray[np.int64]
) -> Float[np.ndarray, "outputs inputs"]:
    start, end, capacity = (np.concatenate(column) for column in zip(*parts, strict=True))
    size = int(max(start.max(), end.max(), outputs.max(initial=0), inputs.max())) + 1
    graph = csr_array(coo_array((capacity, (start, end)), shape=(size, size)))
    found = np.empty((len(outputs), len(inputs)))
    for at, (output, token) in enumerate(itertools.product(outputs, inputs)):
        check_cancelled()
        found.flat[at] = maximum_flow(graph, output, token).flow_value
    return found / ONE


def _checked(positions: Iterable[int] | None, count: int) -> npt.NDArray[np.int64]:
    wanted = list(range(count) if positions is None else positions)
    for position in wanted:
        if not 0 <= position < count:
            raise ValueError(f"there is no position {position}; the positions are 0 to {count - 1}")
    return np.array(wanted, dtype=np.int64)
