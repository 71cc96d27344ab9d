"""Boolean masks: True = may attend (section 3.2.3)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


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
