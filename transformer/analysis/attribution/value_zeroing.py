"""Value zeroing: how much a layer's output changes when one token has nothing to say.

Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers"
(https://arxiv.org/abs/2301.12971), section 3: the value vector of token j is set to zero in all
heads of one attention, its weights stay, and

    c_ij = 1 − cos(x̃_i, x̃_i without j),

x̃_i being what the whole layer puts out at position i. Where weights, norms and ALTI end with
attention or its LayerNorm, this goes through the feed-forward network as well.

Their layers are an encoder's. Here it is done for the decoder too, for each of its two attentions,
up to the output of the decoder layer.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution import norms
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.model.layers import DecoderLayer, EncoderLayer


@torch.inference_mode()
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
    _, site = norms.attention(model, trace, kind, layer)
    norm, above = norms.add_and_norm(model, site).norm, _Above(model, trace, kind, layer)
    total = torch.from_numpy(trace[f"{site}_norm.hook_sum"].copy()).to(model.embedding.weight)
    rows, first = [], 0
    for sent in norms.sums(model, trace, kind, layer):
        whole = total[first : first + len(sent), None]
        first += len(sent)
        parts = torch.from_numpy(sent).to(total)
        # The first of each row is the output as it is.
        outputs = above(norm(torch.cat([whole, whole - parts], dim=1)))
        unit = torch.nn.functional.normalize(outputs.double(), dim=-1)
        # ½‖a − b‖² of unit vectors is 1 − cos, without the rounding of 1 − 1.
        found = (unit[:, 1:] - unit[:, :1]).square().sum(dim=-1) / 2
        rows.append(torch.where(parts.any(dim=-1), found, 0).cpu().numpy())
    return np.concatenate(rows)


class _Above:
    """The rest of the layer over one attention, position by position."""

    def __init__(self, model: Transformer, trace: Trace, kind: str, layer: int) -> None:
        self.kind = kind
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
