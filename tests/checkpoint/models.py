"""Models of a few thousand numbers, and what is in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from transformer.config import ModelConfig
from transformer.model import Transformer

SMALL = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 24}


def tiny(vocab_size: int, seed: int = 0, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(ModelConfig(vocab_size=vocab_size, **(SMALL | changes)))


def weights(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: weight.detach() for name, weight in model.named_parameters()}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
