"""Attention rollout: the product of the weights of all layers, from every output to the tokens.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"
(https://arxiv.org/abs/2005.00928), section 3. A layer's matrix is r·I + (1 − r)·A: a position keeps
a share r by the residual connection, and the rest comes from attention. Abnar and Zuidema use r =
0.5; r = 0 multiplies the raw weights. The rows of a product of such matrices sum to 1.

`joint` extends this to an encoder–decoder: each decoder layer mixes twice, first the target tokens,
then the memory, and keeps r each time. The part from the memory is traced through the encoder to
the source tokens. Since r is the same at every position, the share of the target prefix is r^layers
for any weights. So joint rollout shows which tokens contribute, but not how much the source
contributes compared with the prefix. `value_zeroing.joint`
measures that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind

Heads = Literal["mean", "max"] | int
"""How the heads of a layer are combined: their mean, their maximum, or a single head."""

Stack = Float[np.ndarray, "layers query key"]


@dataclass(frozen=True)
class Relevance:
    """How much of each source and target token is in each decoder position, after every layer.

    A row of `source` and the same row of `target` together sum to 1; `[-1]` is the last layer. Row
    i is the position with input `trace.tgt_tokens[i]` that predicts `trace.predicted_tokens[i]`.

    Attributes:
        source: (layers, tgt, src).
        target: (layers, tgt, tgt), `<s>` is the first column; 0 for later positions.
    """

    source: Float[np.ndarray, "layers tgt src"]
    target: Float[np.ndarray, "layers tgt tgt"]

    @property
    def source_share(self) -> Float[np.ndarray, "layers tgt"]:
        """Share of each position that comes from the source, 0 to 1; the rest is from the target
        prefix."""
        return np.asarray(self.source.sum(axis=-1))


def encoder(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Stack:
    """Return the rollout of the encoder after every layer, (layers, src, src).

    Args:
        heads: "mean", "max" (rows are normalized to sum to 1) or the number of a head.
        residual: r, the share that the residual connection keeps, from 0 to below 1.

    Raises:
        ValueError: for other heads or residual, or weights that the trace lacks.
    """
    return layer_products(with_residual(matrices(trace, "encoder", heads), residual))


def decoder(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Stack:
    """Return the rollout of the decoder's self-attention only, (layers, tgt, tgt); see
    `encoder`."""
    return layer_products(with_residual(matrices(trace, "decoder", heads), residual))


def joint(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Relevance:
    """Return the rollout through decoder and encoder, down to source and target tokens; see
    `encoder`."""
    return joint_rollout(
        encoder(trace, heads, residual)[-1],
        with_residual(matrices(trace, "decoder", heads), residual),
        (1 - residual) * matrices(trace, "cross", heads),
        np.full((trace.depth("decoder"), len(trace.tgt_tokens)), residual),
    )


def matrices(trace: Trace, kind: AttentionKind, heads: Heads = "mean") -> Stack:
    """Return one matrix per layer whose rows sum to 1, in double precision. Raises the errors of
    `encoder`."""
    layers = np.stack([trace.weights(kind, layer) for layer in range(trace.depth(kind))])
    if heads == "mean":
        matrix = layers.mean(axis=1, dtype=np.float64)
    elif heads == "max":
        matrix = layers.max(axis=1).astype(np.float64)
    elif heads in range(trace.n_heads):
        matrix = layers[:, heads].astype(np.float64)
    else:
        raise ValueError(
            f'heads must be "mean", "max" or a head from 0 to {trace.n_heads - 1}, not {heads!r}'
        )
    return np.asarray(matrix / matrix.sum(axis=-1, keepdims=True))


def with_residual(layers: Stack, residual: float) -> Stack:
    """Return r·I + (1 − r)·A of every layer of self-attention; raises ValueError for an invalid
    r."""
    if not 0 <= residual < 1:
        raise ValueError(f"residual must be at least 0 and below 1, not {residual}")
    return np.asarray(residual * np.eye(layers.shape[-1]) + (1 - residual) * layers)


def layer_products(layers: Stack) -> Stack:
    """Return the products of the first layer, the first two and so on; higher layers are on the
    left."""
    products = [layers[0]]
    for layer in layers[1:]:
        products.append(layer @ products[-1])
    return np.stack(products)


def joint_rollout(
    memory: Float[np.ndarray, "src src"],
    self_attention: Float[np.ndarray, "layers tgt tgt"],
    cross_attention: Float[np.ndarray, "layers tgt src"],
    residual_share: Float[np.ndarray, "layers tgt"],
) -> Relevance:
    """Multiply the mixing matrices of the decoder's sublayers.

    Args:
        memory: composition of each position of the memory; rows sum to 1.
        self_attention: each layer's mixing of target positions, residual included; rows sum to 1.
        cross_attention, residual_share: the share of each memory position in the cross-attention's
            output, and that of the residual connection; they sum to 1 for each position.
    """
    from_source, from_target = np.zeros(cross_attention.shape[1:]), np.eye(self_attention.shape[-1])
    source, target = [], []
    for self_mixing, from_memory, remaining in zip(
        self_attention, cross_attention, residual_share[..., None], strict=True
    ):
        from_source = remaining * (self_mixing @ from_source) + from_memory @ memory
        from_target = remaining * (self_mixing @ from_target)
        source.append(from_source)
        target.append(from_target)
    return Relevance(np.stack(source), np.stack(target))
