"""Experiments on an attention: a batch with padding, and a common misprint.

Shapes such as (B, h, L, d_k) for Q have a batch of B sentences, the shorter ones padded (section
3.2). Everywhere else in this app B is 1 and omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.analysis.inside.open_box import Array
from transformer.hooks import Hooks
from transformer.inference import Trace, Translator
from transformer.model import Transformer
from transformer.model.attention import (
    MultiHeadAttention,
    merge_heads,
    padding_mask,
    target_mask,
)
from transformer.text.batching import pad, shift_right


@dataclass(frozen=True, eq=False)
class BatchedAttention:
    """One attention over several sentences.

    Attributes:
        tokens: of each sentence's keys, padding included: B rows of S.
        shapes: a description of each tensor, its axes by name and their sizes, in the order of
            equation 1; L is the length of the queries' side, S that of the keys'.
        on_padding: largest weight that any query gives to a padding key.
        padding: share of all key positions that are padding.
        output: (B, L, d_model).
    """

    tokens: tuple[tuple[str, ...], ...]
    shapes: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]
    on_padding: float
    padding: float
    output: Tensor


def batched_attention(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], attention: str
) -> BatchedAttention:
    """Run these pairs in one batch, as in training, and return one attention's tensors.

    Args:
        attention: for example "decoder.layers.0.cross_attn".

    Raises:
        ValueError: for no pairs, different numbers of sources and targets, or an unknown attention.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(
            f"there are {len(sources)} sentences and {len(targets)} translations; their numbers "
            "must be equal and at least one"
        )
    config, vocabulary = translator.model.config, translator.vocabulary
    src = pad([vocabulary.encode(text) for text in sources], config.pad_id)
    # The last piece is only a target, never an input.
    outputs = [vocabulary.encode(text, target=True) for text in targets]
    tgt = pad(shift_right(outputs, config.bos_id), config.pad_id)
    recorded: dict[str, Tensor] = {}

    def record(tensor: Tensor, name: str) -> None:
        recorded[name.rpartition("hook_")[2]] = tensor.cpu()

    steps = ("query", "key", "value", "scores", "weights", "heads", "output")
    hooks = Hooks({f"{attention}.hook_{step}": record for step in steps})
    with torch.inference_mode():
        translator.model(src.to(translator.device), tgt.to(translator.device), hooks=hooks)
    keys_from_source = attention.startswith("encoder") or attention.endswith("cross_attn")
    keys, mask = (src, padding_mask) if keys_from_source else (tgt, target_mask)
    is_padding = keys == config.pad_id
    pairs = ("B", "h", "L", "S")
    tensors = (
        ("Q, split into heads", ("B", "h", "L", "d_k"), recorded["query"]),
        ("Kᵀ, the last two axes swapped", ("B", "h", "d_k", "S"), recorded["key"].mT),
        ("QKᵀ / √d_k", pairs, recorded["scores"]),
        ("the mask, one for all heads", ("B", "1", "1 or L", "S"), mask(keys, config.pad_id)),
        ("softmax over the last axis", pairs, recorded["weights"]),
        ("V, split into heads", ("B", "h", "S", "d_v"), recorded["value"]),
        ("weights · V", ("B", "h", "L", "d_v"), recorded["heads"]),
        ("Concat: the heads concatenated", ("B", "L", "h · d_v"), merge_heads(recorded["heads"])),
        ("times W^O", ("B", "L", "d_model"), recorded["output"]),
    )
    return BatchedAttention(
        tokens=tuple(tuple(vocabulary.tokens(row)) for row in keys.tolist()),
        shapes=tuple((text, axes, tuple(tensor.shape)) for text, axes, tensor in tensors),
        on_padding=float((recorded["weights"] * is_padding[:, None, None, :]).max()),
        padding=float(is_padding.float().mean()),
        output=recorded["output"],
    )


@dataclass(frozen=True, eq=False)
class KeyMatrixComparison:
    """An encoder layer whose keys are computed with W^Q, a common misprint, compared with the real
    layer.

    Attributes:
        with_w_k, with_w_q: weights (n_heads, query, key) if the keys are x W^K or x W^Q.
        asymmetry_with_w_k, asymmetry_with_w_q: the largest difference between the score of two
            positions and that of the same two with query and key swapped.
    """

    with_w_k: Array
    with_w_q: Array
    asymmetry_with_w_k: float
    asymmetry_with_w_q: float

    @property
    def moved_weight(self) -> float:
        """Mean over heads and rows of the weight that has moved to other keys."""
        return float(np.abs(self.with_w_k - self.with_w_q).sum(-1).mean() / 2)

    @property
    def own_position_weight(self) -> tuple[float, float]:
        """Mean weight of a position on itself, with W^K and with W^Q."""
        with_w_k, with_w_q = (
            float(np.diagonal(weights, axis1=1, axis2=2).mean())
            for weights in (self.with_w_k, self.with_w_q)
        )
        return with_w_k, with_w_q


def keys_by_the_query_matrix(model: Transformer, trace: Trace, layer: int) -> KeyMatrixComparison:
    """Compute head_i = Attention(Q W_i^Q, K W_i^Q, V W_i^V), where section 3.2.2 has K W_i^K.

    In self-attention Q and K are the same rows, so every key equals its query: the scores are then
    symmetric for any learned weights.

    Args:
        trace: of this model, with queries and scores of the encoder's layer.

    Raises:
        KeyError: if they were not recorded.
    """
    site = f"encoder.layers.{layer}.self_attn."
    query = torch.tensor(trace[f"{site}hook_query"], device=model.embedding.weight.device)[None]
    attention: MultiHeadAttention = model.get_submodule(site[:-1])  # type: ignore[assignment]
    with torch.no_grad():
        scores_with_w_q = attention.score(query, query)[0].cpu().double()
    scores_with_w_k = torch.tensor(trace[f"{site}hook_scores"], device="cpu").double()
    return KeyMatrixComparison(
        with_w_k=scores_with_w_k.softmax(-1).numpy(),
        with_w_q=scores_with_w_q.softmax(-1).numpy(),
        asymmetry_with_w_k=_asymmetry(scores_with_w_k),
        asymmetry_with_w_q=_asymmetry(scores_with_w_q),
    )


def _asymmetry(scores: torch.Tensor) -> float:
    return float((scores - scores.transpose(-1, -2)).abs().max())
