"""The boxes of the paper's Figure 1 between attention and the whole model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from transformer.config import Activation, ModelConfig
from transformer.hooks import HookPoint, Hooks
from transformer.model.attention import MultiHeadAttention
from transformer.model.positions import POSITIONS

Sequence = Float[Tensor, "batch length d_model"]


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "swish": functional.silu,
    "gelu": functional.gelu,
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, the same at each position (section 3.3, eq. 2).

    `activation` is the paper's max(0, ·) unless an imported model has another function.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        nn.init.xavier_uniform_(self.w_1.weight)
        nn.init.xavier_uniform_(self.w_2.weight, gain=config.branch_gain)
        nn.init.zeros_(self.w_1.bias)
        nn.init.zeros_(self.w_2.bias)
        self.hook_hidden = HookPoint()  # (batch, length, d_ff), after the activation
        self.hook_output = HookPoint()  # (batch, length, d_model)

    def forward(self, x: Sequence, hooks: Hooks | None = None) -> Sequence:
        hidden = self.hook_hidden(self.activation(self.w_1(x)), hooks)
        return self.hook_output(self.w_2(hidden), hooks)  # type: ignore[no-any-return]


class AddAndNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), post-norm as in the paper (sections 3.1 and 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.norm = nn.LayerNorm(config.d_model)
        self.hook_sum = HookPoint()  # (batch, length, d_model), before the norm
        self.hook_output = HookPoint()  # (batch, length, d_model), the residual stream

    def forward(self, x: Sequence, sublayer: Sequence, hooks: Hooks | None = None) -> Sequence:
        total = self.hook_sum(x + self.dropout(sublayer), hooks)
        return self.hook_output(self.norm(total), hooks)  # type: ignore[no-any-return]


class AddPositions(nn.Module):
    """Embeddings plus positional encodings, then dropout (sections 3.5 and 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.positions = POSITIONS[config.positions](config)
        self.dropout = nn.Dropout(config.dropout)
        self.hook_tokens = HookPoint()  # (batch, length, d_model), embedding × √d_model
        self.hook_positions = HookPoint()  # (1, length, d_model)
        self.hook_output = HookPoint()  # (batch, length, d_model)

    def forward(self, embedded: Sequence, hooks: Hooks | None = None, start: int = 0) -> Sequence:
        """`start` is the position of the first token, for decoding with a cache."""
        tokens = self.hook_tokens(embedded, hooks)
        encoding: Tensor = self.positions(embedded.shape[1], start)[None]
        if self.hook_positions.is_watched(hooks):
            encoding = encoding.clone()  # a hook that writes in place must not reach the table
        encoding = self.hook_positions(encoding.to(embedded.dtype), hooks)
        return self.hook_output(self.dropout(tokens + encoding), hooks)  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with its residual and norm (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(config)
        self.self_attn_norm = AddAndNorm(config)
        self.ffn = FeedForward(config)
        self.ffn_norm = AddAndNorm(config)

    def forward(
        self, x: Sequence, src_mask: Bool[Tensor, "..."] | None, hooks: Hooks | None = None
    ) -> Sequence:
        x = self.self_attn_norm(x, self.self_attn(x, x, src_mask, hooks), hooks)
        return self.ffn_norm(x, self.ffn(x, hooks), hooks)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the memory, feed-forward (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(config)
        self.self_attn_norm = AddAndNorm(config)
        self.cross_attn = MultiHeadAttention(config)
        self.cross_attn_norm = AddAndNorm(config)
        self.ffn = FeedForward(config)
        self.ffn_norm = AddAndNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        memory: Float[Tensor, "batch src d_model"],
        src_mask: Bool[Tensor, "..."] | None,
        tgt_mask: Bool[Tensor, "..."] | None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch tgt d_model"]:
        x = self.self_attn_norm(x, self.self_attn(x, x, tgt_mask, hooks), hooks)
        x = self.cross_attn_norm(x, self.cross_attn(x, memory, src_mask, hooks), hooks)
        return self.ffn_norm(x, self.ffn(x, hooks), hooks)  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """N identical layers over the source (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embed = AddPositions(config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.hook_memory = HookPoint()  # (batch, src, d_model), what the decoder attends to

    def forward(
        self, embedded: Sequence, src_mask: Bool[Tensor, "..."] | None, hooks: Hooks | None = None
    ) -> Sequence:
        x = self.embed(embedded, hooks)
        for layer in self.layers:
            x = layer(x, src_mask, hooks)
        return self.hook_memory(x, hooks)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """N identical layers over the target so far and the memory (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embed = AddPositions(config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))

    def forward(
        self,
        embedded: Float[Tensor, "batch tgt d_model"],
        memory: Float[Tensor, "batch src d_model"],
        src_mask: Bool[Tensor, "..."] | None,
        tgt_mask: Bool[Tensor, "..."] | None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch tgt d_model"]:
        x: torch.Tensor = self.embed(embedded, hooks)
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask, hooks)
        return x
