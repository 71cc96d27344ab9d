"""Value zeroing: how much a layer's output changes when one token's value vectors are zeroed.

Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers"
(https://arxiv.org/abs/2301.12971), section 3: the value vector of token j is set to zero in all
heads of one attention while its weights stay, and

    c_ij = 1 − cos(x̃_i, x̃_i without j),

where x̃_i is the layer's output at position i. Unlike weights and norms, this includes the
feed-forward network.

The paper measures encoder layers. Here the decoder is measured too, for each of its two attentions,
up to the output of the decoder layer.

`joint` multiplies the layers, as rollout does. For a decoder layer, a row has the change (1 − cos)
of its output without each source token, without each prefix token, and without the residual
connection (added to the position itself), normalized to sum to 1. The score of the residual
connection is not in the paper; without it, almost nothing would remain of the prefix after six
layers.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution import norms
from transformer.analysis.attribution.rollout import Relevance, joint_rollout, layer_products
from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer
from transformer.model.layers import DecoderLayer, EncoderLayer


def scores(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> Float[np.ndarray, "query key"]:
    """Return c_ij of one attention, 0 to 2; 0 where the mask blocks.

    Args:
        trace: of this model without hooks, with all sites recorded.
        kind: "encoder", "decoder" or "cross", as in `trace.weights`.

    Raises:
        ValueError: for a kind or layer that does not exist, or a trace of another model.
        KeyError: for a trace without a site that is needed.
    """
    return _output_changes(model, trace, kind, layer)


@torch.inference_mode()
def _output_changes(
    model: Transformer,
    trace: Trace,
    kind: AttentionKind,
    layer: int,
    extra: np.ndarray | None = None,
) -> Float[np.ndarray, "query keys"]:
    """Return `scores`, with a last column for the removal of `extra`, (query, d_model), if
    given."""
    _, site = norms.attention_module(model, trace, kind, layer)
    norm, rest_of_layer = (
        norms.add_and_norm(model, site).norm,
        _LaterSublayers(model, trace, kind, layer),
    )
    total = torch.from_numpy(trace[f"{site}_norm.hook_sum"].copy()).to(model.embedding.weight)
    rows, start = [], 0
    for vectors in norms.summed_vectors(model, trace, kind, layer):
        unchanged = total[start : start + len(vectors), None]
        if extra is not None:
            vectors = np.concatenate([vectors, extra[start : start + len(vectors), None]], axis=1)
        start += len(vectors)
        parts = torch.from_numpy(vectors).to(total)
        # The first of each row is the unchanged output.
        outputs = rest_of_layer(norm(torch.cat([unchanged, unchanged - parts], dim=1)))
        unit = torch.nn.functional.normalize(outputs.cpu().double(), dim=-1)
        # ½‖a − b‖² of unit vectors is 1 − cos, without the rounding of 1 − 1.
        changes = (unit[:, 1:] - unit[:, :1]).square().sum(dim=-1) / 2
        rows.append(torch.where(parts.any(dim=-1).cpu(), changes, 0).numpy())
    return np.concatenate(rows)


def joint(model: Transformer, trace: Trace) -> Relevance:
    """Return the share of each source and prefix token in each decoder position, over all layers.

    Raises the errors of `scores`.
    """
    encoder, self_attention = (
        np.stack([_mixing(model, trace, kind, n) for n in range(trace.depth(kind))])
        for kind in ("encoder", "decoder")
    )
    cross_attention = np.stack(
        [scores(model, trace, "cross", n) for n in range(trace.depth("cross"))]
    )
    within_sums = self_attention.sum(axis=-1, keepdims=True)
    total = within_sums + cross_attention.sum(axis=-1, keepdims=True, dtype=np.float64)
    memory = layer_products(encoder / encoder.sum(axis=-1, keepdims=True))[-1]
    return joint_rollout(
        memory, self_attention / within_sums, cross_attention / total, (within_sums / total)[..., 0]
    )


def _mixing(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> Float[np.ndarray, "query query"]:
    """Return the scores of self-attention; the diagonal includes that of the residual
    connection."""
    below = f"{kind}.layers.{layer - 1}.ffn_norm" if layer else f"{kind}.embed"
    stream = trace[f"{below}.hook_output"]
    changes = _output_changes(model, trace, kind, layer, stream).astype(np.float64)
    return np.asarray(changes[:, :-1] + np.diag(changes[:, -1]))


class _LaterSublayers:
    """The part of the layer above one attention, position by position."""

    def __init__(self, model: Transformer, trace: Trace, kind: AttentionKind, layer: int) -> None:
        self.layer = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
        self.memory: Tensor | None = None
        if kind == "decoder":
            memory = torch.from_numpy(trace["encoder.hook_memory"].copy())
            self.memory = memory.to(model.embedding.weight)[None]

    def __call__(self, x: Float[Tensor, "query key d_model"]) -> Float[Tensor, "query key d_model"]:
        layer = self.layer
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        flat: Tensor = x.flatten(0, 1)[None]
        if self.memory is not None:
            assert isinstance(layer, DecoderLayer)
            flat = layer.cross_attn_norm(flat, layer.cross_attn(flat, self.memory, None))
        flat = layer.ffn_norm(flat, layer.ffn(flat))
        output: Tensor = flat.reshape(x.shape)
        return output
