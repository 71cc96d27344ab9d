"""The lean decoder: keys and values of earlier positions are kept, each token computed once.

Built once a model, and never changed: threads share it. What changes is in the session of a call.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transformer.model import Transformer
from transformer.model.attention import ScoreFunction, attention_weights, split_heads
from transformer.model.layers import AddAndNorm, DecoderLayer

Row = Float[Tensor, "rows d_model"]


@dataclass(frozen=True)
class _Norm:
    weight: Tensor
    bias: Tensor
    eps: float

    @classmethod
    def of(cls, module: AddAndNorm) -> _Norm:
        norm = module.norm
        return cls(norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, x: Row) -> Row:
        return torch.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class _Layer:
    """The weights of one decoder layer, transposed so that rows multiply from the left."""

    def __init__(self, layer: DecoderLayer) -> None:
        self_attn, cross_attn = layer.self_attn, layer.cross_attn
        self.n_heads = self_attn.n_heads
        self.self_score, self.cross_score = self_attn.score, cross_attn.score
        self.w_qkv, self.w_o = self_attn.w_qkv.detach().t(), self_attn.w_o.detach().t()
        self.w_cross_q = cross_attn.w_q.detach().t()
        self.w_cross_kv = cross_attn.w_qkv[cross_attn.d_model :].detach().t()
        self.w_cross_o = cross_attn.w_o.detach().t()
        self.w_1, self.b_1 = layer.ffn.w_1.weight.detach().t(), layer.ffn.w_1.bias.detach()
        self.w_2, self.b_2 = layer.ffn.w_2.weight.detach().t(), layer.ffn.w_2.bias.detach()
        self.self_norm, self.cross_norm = (
            _Norm.of(layer.self_attn_norm),
            _Norm.of(layer.cross_attn_norm),
        )
        self.ffn_norm = _Norm.of(layer.ffn_norm)


class CachedDecoder:
    """The decoder's weights, arranged for one token at a time."""

    def __init__(self, model: Transformer) -> None:
        self.config = model.config
        self.layers = [_Layer(layer) for layer in model.decoder.layers]  # type: ignore[arg-type]
        self.embedding = (model.embedding.weight * self.config.d_model**0.5).detach()
        self.output = model.embedding.weight.detach().t()
        self.positions = model.decoder.embed.positions

    def start(
        self,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        max_len: int,
    ) -> CachedSession:
        """A session for outputs of at most `max_len` tokens."""
        return CachedSession(self, memory, src_mask, max_len)


class CachedSession:
    """`Session` with preallocated keys and values."""

    def __init__(
        self,
        decoder: CachedDecoder,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        max_len: int,
    ) -> None:
        self.decoder, self.length = decoder, 0
        config = decoder.config
        shape = (config.n_layers, 2, len(memory), config.n_heads, max_len, config.d_k)
        self.cache = memory.new_empty(shape)
        self.cross = []
        for layer in decoder.layers:
            parts = (memory @ layer.w_cross_kv).chunk(2, dim=-1)
            self.cross.append([split_heads(part, layer.n_heads).contiguous() for part in parts])
        self.src_mask = None if bool(src_mask.all()) else src_mask
        self.positions = decoder.positions(max_len)

    def step(self, ids: Int[Tensor, " rows"], out: Float[Tensor, "rows vocab"]) -> None:
        decoder, t = self.decoder, self.length
        x = decoder.embedding[ids] + self.positions[t]
        for number, layer in enumerate(decoder.layers):
            query, key, value = (
                split_heads(part[:, None], layer.n_heads) for part in (x @ layer.w_qkv).chunk(3, -1)
            )
            cache = self.cache[number]
            cache[0, :, :, t], cache[1, :, :, t] = key[:, :, 0], value[:, :, 0]
            keys, values = cache[0, :, :, : t + 1], cache[1, :, :, : t + 1]
            heads = attend(layer.self_score, query, keys, values, None)
            x = layer.self_norm(torch.addmm(x, heads.flatten(1), layer.w_o))
            query = split_heads((x @ layer.w_cross_q)[:, None], layer.n_heads)
            keys, values = self.cross[number]
            heads = attend(layer.cross_score, query, keys, values, self.src_mask)
            x = layer.cross_norm(torch.addmm(x, heads.flatten(1), layer.w_cross_o))
            hidden = torch.addmm(layer.b_1, x, layer.w_1).relu_()
            x = layer.ffn_norm(torch.addmm(x, hidden, layer.w_2) + layer.b_2)
        torch.mm(x, decoder.output, out=out)
        self.length = t + 1

    def select(self, rows: Int[Tensor, " new"]) -> None:
        t = self.length
        shape = list(self.cache.shape)
        shape[2] = len(rows)
        cache = self.cache.new_empty(shape)
        cache[..., :t, :] = self.cache[..., :t, :].index_select(2, rows)
        self.cache = cache
        self.cross = [[part[rows] for part in parts] for parts in self.cross]
        if self.src_mask is not None:
            self.src_mask = self.src_mask[rows]


def attend(
    score: ScoreFunction,
    query: Float[Tensor, "rows heads 1 d_k"],
    keys: Float[Tensor, "rows heads length d_k"],
    values: Float[Tensor, "rows heads length d_k"],
    mask: Bool[Tensor, "rows 1 1 length"] | None,
) -> Float[Tensor, "rows heads 1 d_k"]:
    """One query a row and head."""
    if score.kind == "additive":
        return attention_weights(score(query, keys), mask) @ values
    return functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask, scale=score.scale
    )
