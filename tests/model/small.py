"""Small models and inputs that the tests of the model share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.model import Transformer

# All sizes differ, so that exchanged axes cause an error.
SIZES: dict[str, Any] = {
    "vocab_size": 29,
    "d_model": 24,
    "n_layers": 2,
    "n_heads": 4,
    "d_ff": 40,
    "dropout": 0.0,
    "max_len": 32,
}


def make_config(**changes: Any) -> ModelConfig:
    return ModelConfig(**(SIZES | changes))


def make_model(seed: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """Return a model in evaluation mode; all weights are perturbed, so no bias is 0 and no gain
    1."""
    torch.manual_seed(seed)
    model = Transformer(make_config(**changes)).to(dtype)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.1)
    return model.eval()


def make_ids(*lengths: int, seed: int = 0, width: int | None = None) -> Tensor:
    """Return one row of ordinary ids per length, the shorter ones padded with 0."""
    generator = torch.Generator().manual_seed(seed)
    longest = width or max(lengths)
    shape = (len(lengths), longest)
    ids = torch.randint(4, SIZES["vocab_size"], shape, generator=generator, device="cpu")
    ids = ids.to(torch.get_default_device())
    is_token = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return ids * is_token


SRC, TGT = make_ids(7, 4, 1, seed=1), make_ids(5, 2, 6, seed=2)  # (3, 7) and (3, 6)


def capture(
    model: Transformer, src: Tensor, tgt: Tensor, names: Iterable[str] | None = None
) -> dict[str, Tensor]:
    """Return the tensors at all hook points of one forward pass, and its result as `"logits"`."""
    captured: dict[str, Tensor] = {}

    def record(tensor: Tensor, name: str) -> None:
        captured[name] = tensor

    chosen = model.hook_names if names is None else names
    captured["logits"] = model(src, tgt, hooks=Hooks(dict.fromkeys(chosen, record)))
    return captured
