"""Decoding without a cache: the whole model at every step. Slow, and right by construction.

Interventions go this way: a hook sees, at each step, what it would see in one pass over the
tokens so far. The cached decoder must give the same numbers, and a test says so.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.model import Transformer


@runtime_checkable
class Session(Protocol):
    """The state of some outputs being decoded side by side, one row each."""

    def step(self, ids: Int[Tensor, " rows"], out: Float[Tensor, "rows vocab"]) -> None:
        """Read one more token a row (`<s>` first); write the logits of the next into `out`."""

    def select(self, rows: list[int]) -> None:
        """Go on with these rows, in this order; a row may be taken more than once."""


class PlainSession:
    """`Session` by a full decoder pass a step, with this call's hooks."""

    def __init__(
        self,
        model: Transformer,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        hooks: Hooks | None = None,
    ) -> None:
        self.model, self.memory, self.src_mask, self.hooks = model, memory, src_mask, hooks
        self.prefix = torch.empty(len(memory), 0, dtype=torch.long, device=memory.device)

    def step(self, ids: Int[Tensor, " rows"], out: Float[Tensor, "rows vocab"]) -> None:
        self.prefix = torch.cat([self.prefix, ids[:, None]], dim=1)
        states = self.model.decode(self.prefix, self.memory, self.src_mask, hooks=self.hooks)
        out.copy_(self.model.project(states, self.hooks)[:, -1])

    def select(self, rows: list[int]) -> None:
        self.prefix = self.prefix[rows]
        self.memory, self.src_mask = self.memory[rows], self.src_mask[rows]
