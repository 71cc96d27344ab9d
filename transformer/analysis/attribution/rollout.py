"""Attention rollout: the weights of all layers multiplied, from every output back to the tokens.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"
(https://arxiv.org/abs/2005.00928), section 3. A layer's matrix is r·I + (1 − r)·A: the residual
connection keeps r of a position and attention brings the rest. r = 0.5 is theirs; r = 0 is the raw
weights multiplied. The rows of a product of such matrices sum to 1.

`joint` goes through a whole encoder–decoder, which theirs was not: each decoder layer mixes
twice, first among the target tokens, then with the memory, and each time keeps r. What it takes
from the memory is followed down the encoder, where it began as source tokens. As r is the same at
every position, the target keeps r^layers of each, whatever the weights are: joint rollout says
which tokens, not how much of source against prefix. `alti.joint` measures that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transformer.inference.trace import Trace

Heads = Literal["mean", "max"] | int
"""How the heads of a layer become one matrix: their mean, their maximum, or the head given."""

Stack = Float[np.ndarray, "layers query key"]


@dataclass(frozen=True)
class Relevance:
    """How much of each source and target token is in each decoder position, after every layer.

    A row of `source` and the same row of `target` sum to 1 together; `[-1]` is the last layer.
    Row i is the position that read `trace.tgt_tokens[i]` and wrote `trace.predicted_tokens[i]`.

    Attributes:
        source: (layers, tgt, src).
        target: (layers, tgt, tgt), `<s>` the first column; no position reads a later one.
    """

    source: Float[np.ndarray, "layers tgt src"]
    target: Float[np.ndarray, "layers tgt tgt"]

    @property
    def source_share(self) -> Float[np.ndarray, "layers tgt"]:
        """What of each position came from the source, 0 to 1; the rest from the target prefix."""
        return np.asarray(self.source.sum(axis=-1))


def encoder(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Stack:
    """Rollout of the encoder after every layer, (layers, src, src).

    Args:
        heads: "mean", "max" (rows made to sum to 1 again) or the number of a head.
        residual: r, the share that the residual connection keeps, from 0 to below 1.

    Raises:
        ValueError: for other heads or residual, or weights that the trace lacks.
    """
    return roll(kept(matrices(trace, "encoder", heads), residual))


def decoder(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Stack:
    """Rollout of the decoder's self-attention alone, (layers, tgt, tgt); see `encoder`."""
    return roll(kept(matrices(trace, "decoder", heads), residual))


def joint(trace: Trace, heads: Heads = "mean", residual: float = 0.5) -> Relevance:
    """Rollout through decoder and encoder, down to source and target tokens; see `encoder`."""
    return roll_joint(
        encoder(trace, heads, residual)[-1],
        kept(matrices(trace, "decoder", heads), residual),
        (1 - residual) * matrices(trace, "cross", heads),
        np.full((trace.depth("decoder"), len(trace.tgt_tokens)), residual),
    )


def matrices(trace: Trace, kind: str, heads: Heads = "mean") -> Stack:
    """One matrix a layer whose rows sum to 1, in double precision; errors as of `encoder`."""
    layers = np.stack([trace.weights(kind, layer) for layer in range(trace.depth(kind))])
    if heads == "mean":
        one = layers.mean(axis=1, dtype=np.float64)
    elif heads == "max":
        one = layers.max(axis=1).astype(np.float64)
    elif heads in range(trace.n_heads):
        one = layers[:, heads].astype(np.float64)
    else:
        raise ValueError(
            f'heads must be "mean", "max" or a head from 0 to {trace.n_heads - 1}, not {heads!r}'
        )
    return np.asarray(one / one.sum(axis=-1, keepdims=True))


def kept(layers: Stack, residual: float) -> Stack:
    """r·I + (1 − r)·A of every layer of self-attention; raises ValueError for another r."""
    if not 0 <= residual < 1:
        raise ValueError(f"residual must be at least 0 and below 1, not {residual}")
    return np.asarray(residual * np.eye(layers.shape[-1]) + (1 - residual) * layers)


def roll(layers: Stack) -> Stack:
    """The product of the first layer, of the first two, and so on; higher layers stand left."""
    rolled = [layers[0]]
    for layer in layers[1:]:
        rolled.append(layer @ rolled[-1])
    return np.stack(rolled)


def roll_joint(
    memory: Float[np.ndarray, "src src"],
    within: Float[np.ndarray, "layers tgt tgt"],
    across: Float[np.ndarray, "layers tgt src"],
    stay: Float[np.ndarray, "layers tgt"],
) -> Relevance:
    """From what each sublayer of the decoder mixes to what each position is made of.

    Args:
        memory: what each position of the memory is made of, rows sum to 1.
        within: each layer's mixing of target positions, residual included; rows sum to 1.
        across, stay: what cross attention then takes from the memory, and what is left of the
            position as it was; a row of both sums to 1.
    """
    from_source, from_target = np.zeros(across.shape[1:]), np.eye(within.shape[-1])
    source, target = [], []
    for mixed, taken, left in zip(within, across, stay[..., None], strict=True):
        from_source = left * (mixed @ from_source) + taken @ memory
        from_target = left * (mixed @ from_target)
        source.append(from_source)
        target.append(from_target)
    return Relevance(np.stack(source), np.stack(target))
