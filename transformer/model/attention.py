"""Attention (section 3.2): masks, score functions, one attention, many heads.

Masks are boolean, True = may attend (section 3.2.3).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transformer.config import ModelConfig, Score
from transformer.hooks import HookPoint, Hooks


def padding_mask(ids: Int[Tensor, "batch length"], pad_id: int) -> Bool[Tensor, "batch 1 1 length"]:
    """Every query may attend to every key that is not padding."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "length length"]:
    """Position i may attend to positions up to and including i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def target_mask(
    ids: Int[Tensor, "batch length"], pad_id: int
) -> Bool[Tensor, "batch 1 length length"]:
    """Neither padding nor a later position."""
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1], ids.device)


Heads = Float[Tensor, "batch heads length d_k"]
Query = Float[Tensor, "batch heads query d_k"]
Key = Float[Tensor, "batch heads key d_k"]  # of values too: d_v = d_k


def attention_weights(
    scores: Float[Tensor, "batch heads query key"],
    mask: Bool[Tensor, "..."] | None,
    *,
    empty_rows: bool = False,
) -> Float[Tensor, "batch heads query key"]:
    """Softmax over the keys; scores where the mask is False are set to -∞ before (section 3.2.3).

    With `empty_rows`, a row whose scores are all -∞ gets weights of 0; otherwise they are NaN.

    In bf16, the sum is computed in float32 and rounded once, which is also faster for short rows on
    a CPU.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    wide = torch.promote_types(scores.dtype, torch.float32)
    weights = scores.softmax(dim=-1, dtype=wide).to(scores.dtype)
    if empty_rows:
        is_empty = scores.isneginf().all(dim=-1, keepdim=True)
        weights = weights.masked_fill(is_empty, 0.0)
    return weights


def split_heads(x: Float[Tensor, "batch length d_model"], n_heads: int) -> Heads:
    """(batch, length, d_model) to (batch, heads, length, d_k), without a copy."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # type: ignore[no-any-return]


def merge_heads(heads: Heads) -> Float[Tensor, "batch length d_model"]:
    """Concat(head_1, …, head_h)."""
    return heads.transpose(1, 2).flatten(-2)


class ScoreFunction(nn.Module):
    """The score function: one number for each query, key and head.

    "scaled_dot": q·k / √d_k (eq. 1). "dot": q·k. "additive": v·tanh(q + k) with one learned v a
    head (Bahdanau et al. 2015; their two matrices are the projections W^Q and W^K here).
    """

    def __init__(self, kind: Score, n_heads: int, d_k: int) -> None:
        super().__init__()
        self.kind = kind
        self.scale = d_k**-0.5 if kind == "scaled_dot" else 1.0
        if kind == "additive":
            self.v = nn.Parameter(torch.empty(n_heads, d_k))
            nn.init.uniform_(self.v, -(d_k**-0.5), d_k**-0.5)

    def forward(self, query: Query, key: Key) -> Float[Tensor, "batch heads query key"]:
        if self.kind == "additive":
            pairs = torch.tanh(query[..., :, None, :] + key[..., None, :, :])
            return torch.einsum("bhqkd,hd->bhqk", pairs, self.v)
        return (query * self.scale) @ key.transpose(-1, -2)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2).

    W^Q, W^K and W^V of all heads are one matrix `w_qkv` (3·d_model, d_model), so that
    self-attention projects once; `w_q`, `w_k`, `w_v` are its thirds, rows ordered by head. The
    paper has no biases; where the config asks for them, they are `b_qkv` (3·d_model) and `b_o`.
    """

    b_qkv: nn.Parameter | None
    b_o: nn.Parameter | None

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads, self.d_model = config.n_heads, config.d_model
        self.w_qkv = nn.Parameter(torch.empty(3 * config.d_model, config.d_model))
        self.w_o = nn.Parameter(torch.empty(config.d_model, config.d_model))
        for name, width in (("b_qkv", 3 * config.d_model), ("b_o", config.d_model)):
            bias = nn.Parameter(torch.zeros(width)) if config.biases else None
            self.register_parameter(name, bias)
        for weight in self.w_qkv.chunk(3):
            nn.init.xavier_uniform_(weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.w_o, gain=config.branch_gain)
        self.score = ScoreFunction(config.score, config.n_heads, config.d_k)
        self.hook_query = HookPoint()  # (batch, heads, query, d_k)
        self.hook_key = HookPoint()  # (batch, heads, key, d_k)
        self.hook_value = HookPoint()  # (batch, heads, key, d_k)
        self.hook_scores = HookPoint()  # (batch, heads, query, key), scaled, before the mask
        self.hook_weights = HookPoint()  # (batch, heads, query, key), rows sum to 1
        self.hook_heads = HookPoint()  # (batch, heads, query, d_k), before W^O
        self.hook_output = HookPoint()  # (batch, query, d_model), after W^O

    @property
    def w_q(self) -> Float[Tensor, "d_model d_model"]:
        return self.w_qkv[: self.d_model]

    @property
    def w_k(self) -> Float[Tensor, "d_model d_model"]:
        return self.w_qkv[self.d_model : 2 * self.d_model]

    @property
    def w_v(self) -> Float[Tensor, "d_model d_model"]:
        return self.w_qkv[2 * self.d_model :]

    def bias(self, part: Literal["q", "k", "v"]) -> Float[Tensor, "d_model"]:
        """b^Q, b^K or b^V, rows ordered by head; zeros if the model has no biases."""
        if self.b_qkv is None:
            return self.w_qkv.new_zeros(self.d_model)
        return self.b_qkv.chunk(3)["qkv".index(part)]

    def project(
        self, x: Float[Tensor, "batch query d_model"], memory: Float[Tensor, "batch key d_model"]
    ) -> tuple[Query, Key, Key]:
        """Queries from `x`, keys and values from `memory`; the same tensor for self-attention."""
        if memory is x:
            parts = functional.linear(x, self.w_qkv, self.b_qkv).chunk(3, dim=-1)
            query, key, value = (split_heads(part, self.n_heads) for part in parts)
            return query, key, value
        return self.project_query(x), *self.project_memory(memory)

    def project_query(self, x: Float[Tensor, "batch query d_model"]) -> Query:
        bias = None if self.b_qkv is None else self.b_qkv[: self.d_model]
        return split_heads(functional.linear(x, self.w_q, bias), self.n_heads)

    def project_memory(self, memory: Float[Tensor, "batch key d_model"]) -> tuple[Key, Key]:
        """Return keys and values."""
        bias = None if self.b_qkv is None else self.b_qkv[self.d_model :]
        keys_and_values = functional.linear(memory, self.w_qkv[self.d_model :], bias)
        key, value = (split_heads(part, self.n_heads) for part in keys_and_values.chunk(2, dim=-1))
        return key, value

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."] | None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """`mask` broadcasts to (batch, heads, query, key), True = may attend; None = all may. Each
        query needs at least one key it may attend to."""
        return self.attend(*self.project(x, memory), mask, hooks)

    def attend(
        self,
        query: Query,
        key: Key,
        value: Key,
        mask: Bool[Tensor, "..."] | None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Compute everything after the projections: scores, softmax, weighted values, W^O."""
        query = self.hook_query(query, hooks)
        key = self.hook_key(key, hooks)
        value = self.hook_value(value, hooks)
        scores = self.hook_scores(self.score(query, key), hooks)
        empty_rows = self.hook_scores.is_watched(hooks)  # it may set scores to -∞
        weights = attention_weights(scores, mask, empty_rows=empty_rows)
        weights = self.hook_weights(weights, hooks)
        heads = self.hook_heads(weights @ value, hooks)
        output = functional.linear(merge_heads(heads), self.w_o, self.b_o)
        return self.hook_output(output, hooks)  # type: ignore[no-any-return]
