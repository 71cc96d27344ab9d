"""Value zeroing: how much a layer's output changes when one token has nothing to say.

Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers"
(https://arxiv.org/abs/2301.12971), section 3: the value vector of token j is set to zero in all
heads of one attention, its weights stay, and

    c_ij = 1 − cos(x̃_i, x̃_i without j),

x̃_i being what the whole layer puts out at position i. Where weights, norms and ALTI end with
attention or its LayerNorm, this goes through the feed-forward network as well.

Their layers are an encoder's. Here it is done for the decoder too, for each of its two attentions,
up to the output of the decoder layer.

`joint` multiplies the layers, as rollout does. A decoder layer has two attentions and a residual
connection, and one vector at which each can be missed: so a row holds how far the output turns
without a source token, without one of the prefix, and without what the residual connection brings
(1 − cos as well, added to the position itself), and is made to sum to 1. That last score is ours.
Without it only what attention carries counts, and after six layers nothing is left of the prefix.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution import alti, norms
from transformer.analysis.attribution.rollout import Relevance, roll, roll_joint
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.model.layers import DecoderLayer, EncoderLayer


def scores(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "query key"]:
    """c_ij of one attention, 0 to 2; 0 where the mask lets nothing through.

    Args:
        trace: of this model without hooks, with all sites recorded.
        kind: "encoder", "decoder" or "cross", as in `trace.weights`.

    Raises:
        ValueError: for a kind or layer that is not there, or a trace of another model.
        KeyError: for a trace without a site that is needed.
    """
    return _turns(model, trace, kind, layer)


@torch.inference_mode()
def _turns(
    model: Transformer, trace: Trace, kind: str, layer: int, other: np.ndarray | None = None
) -> Float[np.ndarray, "query keys"]:
    """`scores`, and in a last column that of missing `other`, (query, d_model), where it is given.
    Errors as of `scores`."""
    _, site = norms.attention(model, trace, kind, layer)
    norm, above = norms.add_and_norm(model, site).norm, _Above(model, trace, kind, layer)
    total = torch.from_numpy(trace[f"{site}_norm.hook_sum"].copy()).to(model.embedding.weight)
    rows, first = [], 0
    for sent in norms.sums(model, trace, kind, layer):
        whole = total[first : first + len(sent), None]
        if other is not None:
            sent = np.concatenate([sent, other[first : first + len(sent), None]], axis=1)
        first += len(sent)
        parts = torch.from_numpy(sent).to(total)
        # The first of each row is the output as it is.
        outputs = above(norm(torch.cat([whole, whole - parts], dim=1)))
        unit = torch.nn.functional.normalize(outputs.double(), dim=-1)
        # ½‖a − b‖² of unit vectors is 1 − cos, without the rounding of 1 − 1.
        found = (unit[:, 1:] - unit[:, :1]).square().sum(dim=-1) / 2
        rows.append(torch.where(parts.any(dim=-1), found, 0).cpu().numpy())
    return np.concatenate(rows)


def joint(model: Transformer, trace: Trace) -> Relevance:
    """How much each source and prefix token turns each decoder position, all layers multiplied.
    Errors as of `scores`."""
    encoder, within = (
        np.stack([_mixing(model, trace, kind, n) for n in range(trace.depth(kind))])
        for kind in ("encoder", "decoder")
    )
    across = np.stack([scores(model, trace, "cross", n) for n in range(trace.depth("cross"))])
    own = within.sum(axis=-1, keepdims=True)
    both = own + across.sum(axis=-1, keepdims=True, dtype=np.float64)
    memory = roll(encoder / encoder.sum(axis=-1, keepdims=True))[-1]
    return roll_joint(memory, within / own, across / both, (own / both)[..., 0])


def _mixing(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "query query"]:
    """Scores of self-attention, and on the diagonal also that of the residual connection."""
    kept = trace[alti.before(kind, layer)]
    found = _turns(model, trace, kind, layer, kept).astype(np.float64)
    return np.asarray(found[:, :-1] + np.diag(found[:, -1]))


class _Above:
    """The rest of the layer over one attention, position by position."""

    def __init__(self, model: Transformer, trace: Trace, kind: str, layer: int) -> None:
        self.layer = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
        self.memory: Tensor | None = None
        if kind == "decoder":
            memory = torch.from_numpy(trace["encoder.hook_memory"].copy())
            self.memory = memory.to(model.embedding.weight)[None]

    def __call__(self, x: Float[Tensor, "query key d_model"]) -> Float[Tensor, "query key d_model"]:
        one = self.layer
        assert isinstance(one, EncoderLayer | DecoderLayer)
        flat: Tensor = x.flatten(0, 1)[None]
        if self.memory is not None:
            assert isinstance(one, DecoderLayer)
            flat = one.cross_attn_norm(flat, one.cross_attn(flat, self.memory, None))
        flat = one.ffn_norm(flat, one.ffn(flat))
        found: Tensor = flat.reshape(x.shape)
        return found
