"""Models of a few thousand weights, and functions that corrupt a checkpoint folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from transformer.config import ModelConfig
from transformer.model import Transformer

SHAPE = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 24}


def tiny_transformer(vocab_size: int, seed: int = 0, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(ModelConfig(vocab_size=vocab_size, **(SHAPE | changes)))


def weights(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: weight.detach() for name, weight in model.named_parameters()}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


Corruption = Callable[[Path], object]


def edited(name: str, **values: Any) -> Corruption:
    """Return a function that changes these values of a JSON file; `...` deletes a key."""

    def edit(folder: Path) -> None:
        content = json.loads((folder / name).read_text("utf-8")) | values
        remaining = {key: value for key, value in content.items() if value is not ...}
        (folder / name).write_text(json.dumps(remaining), encoding="utf-8")

    return edit


def without(name: str) -> Corruption:
    return lambda folder: (folder / name).unlink()


def truncated(name: str, size: int) -> Corruption:
    return lambda folder: os.truncate(folder / name, size)


def edited_weights(edit: Callable[[dict[str, torch.Tensor]], object]) -> Corruption:
    def rewrite(folder: Path) -> None:
        tensors = {k: v.clone() for k, v in load_file(folder / "model.safetensors").items()}
        edit(tensors)
        save_file(tensors, folder / "model.safetensors")
        (folder / "model.safetensors.sha256").unlink(
            missing_ok=True
        )  # as in a folder of another program

    return rewrite
