"""The whole model of "Attention Is All You Need": encoder, decoder, one shared embedding."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transformer.cancellation import check_cancelled
from transformer.config import ModelConfig
from transformer.hooks import HookPoint, Hooks
from transformer.model.attention import padding_mask, target_mask
from transformer.model.layers import Decoder, Encoder

Ids = Int[Tensor, "batch length"]
Mask = Bool[Tensor, "..."]


class Transformer(nn.Module):
    """Encoder–decoder Transformer, post-norm, with hook points at all intermediate tensors.

    `model(src, tgt, hooks=Hooks({name: fn}))` reads or replaces tensors in that call only;
    `hook_names` lists the hook points. Both embeddings and the output projection are one matrix,
    multiplied by √d_model where it embeds (section 3.4). An imported model may have a bias on its
    logits, `output_bias`, and no such factor.
    """

    output_bias: nn.Parameter | None

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        self.register_parameter("output_bias", bias)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.hook_logits = HookPoint()  # (batch, tgt, vocab)
        points = [(n, m) for n, m in self.named_modules() if isinstance(m, HookPoint)]
        for name, point in points:
            point.name = name
        self.hook_names = tuple(name for name, _ in points)

    def forward(
        self,
        src: Int[Tensor, "batch src"],
        tgt: Int[Tensor, "batch tgt"],
        src_mask: Mask | None = None,
        tgt_mask: Mask | None = None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Return the logits of the token after each target position; `tgt` starts with `<s>`.

        Masks are True where attention is allowed; by default they are computed from `pad_id`.
        Raises ValueError for a hook name the model does not have.
        """
        if src_mask is None:
            src_mask = padding_mask(src, self.config.pad_id)
        memory = self.encode(src, src_mask, hooks)
        return self.project(self.decode(tgt, memory, src_mask, tgt_mask, hooks), hooks)

    def encode(
        self,
        src: Int[Tensor, "batch src"],
        src_mask: Mask | None = None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch src d_model"]:
        """Return the memory: one vector per source position."""
        hooks = self._resolved(hooks)
        if src_mask is None:
            src_mask = padding_mask(src, self.config.pad_id)
        return self.encoder(self.embed(src), src_mask, hooks)  # type: ignore[no-any-return]

    def decode(
        self,
        tgt: Int[Tensor, "batch tgt"],
        memory: Float[Tensor, "batch src d_model"],
        src_mask: Mask | None = None,
        tgt_mask: Mask | None = None,
        hooks: Hooks | None = None,
    ) -> Float[Tensor, "batch tgt d_model"]:
        """Return decoder states; `src_mask` None means that the memory has no padding."""
        hooks = self._resolved(hooks)
        if tgt_mask is None:
            tgt_mask = target_mask(tgt, self.config.pad_id)
        return self.decoder(self.embed(tgt), memory, src_mask, tgt_mask, hooks)  # type: ignore[no-any-return]

    def embed(self, ids: Ids) -> Float[Tensor, "batch length d_model"]:
        """Return rows of the shared matrix × √d_model (section 3.4)."""
        return self.embedding(ids) * self.config.embedding_scale  # type: ignore[no-any-return]

    def project(
        self, states: Float[Tensor, "batch tgt d_model"], hooks: Hooks | None = None
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Return the logits of decoder states, by the embedding matrix (section 3.4)."""
        hooks = self._resolved(hooks)
        logits = functional.linear(states, self.embedding.weight, self.output_bias)
        return self.hook_logits(logits, hooks)  # type: ignore[no-any-return]

    def _resolved(self, hooks: Hooks | None) -> Hooks | None:
        """Return `hooks` by the names of this model's hook points."""
        check_cancelled()
        if hooks is None:
            return None
        if not isinstance(hooks, Hooks):
            raise ValueError(f"hooks must be Hooks({{name: fn}}), not a {type(hooks).__name__}")
        return hooks.resolved(self.hook_names)
