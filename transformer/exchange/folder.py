"""Reading folders of `transformers` (JSON and weights) without running code from them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoint import DTYPES, CheckpointError, open_weights, read_json

WEIGHTS, PICKLED, SHARDED = (
    "model.safetensors",
    "pytorch_model.bin",
    "model.safetensors.index.json",
)


def require_file(folder: Path, name: str) -> Path:
    """Return the path of a file. Raises CheckpointError, with the folder's content, if missing."""
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder} is a file; a model of transformers is a folder"
            if folder.exists()
            else f"there is no folder {folder}"
        )
    if not (folder / name).is_file():
        content = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        raise CheckpointError(f"{folder} has no {name}; it contains {content}")
    return folder / name


def optional_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON object of the folder; {} if there is no such file."""
    return read_json(folder / name) if (folder / name).is_file() else {}


def read_weights(folder: Path, *, pickled: bool = False) -> dict[str, Tensor]:
    """Read every tensor of the folder as float32.

    Args:
        pickled: if there is no safetensors file, read pytorch_model.bin, a pickle. torch then
            builds only tensors and plain containers (`weights_only`).

    Raises:
        CheckpointError: for a file that is missing, truncated, or contains other values.
    """
    if not (folder / WEIGHTS).is_file() and (folder / PICKLED).is_file():
        if not pickled:
            raise CheckpointError(
                f"{folder} has its weights in {PICKLED}, a pickle, which is not read: write "
                f"{WEIGHTS} with transformers, by save_pretrained of the loaded model, or load "
                f"only its tensors with --read-bin"
            )
        return _read_pickled(folder / PICKLED)
    if not (folder / WEIGHTS).is_file() and (folder / SHARDED).is_file():
        raise CheckpointError(
            f"{folder} has its weights in several files; write one, by save_pretrained with "
            "max_shard_size='100GB'"
        )
    path = require_file(folder, WEIGHTS)
    with open_weights(path) as file:
        kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
        for name, kind in kinds.items():
            if kind not in DTYPES:
                raise CheckpointError(
                    f"{path}: {name} is of type {kind}; weights are {', '.join(DTYPES)}"
                )
        return {name: file.get_tensor(name).float() for name in kinds}


def _read_pickled(path: Path) -> dict[str, Tensor]:
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise CheckpointError(
            f"{path} is truncated, or has more than weights ({type(error).__name__})"
        ) from error
    if not isinstance(tensors, dict) or not all(isinstance(t, Tensor) for t in tensors.values()):
        raise CheckpointError(f"{path} must contain only tensors by name")
    return {name: tensor.float() for name, tensor in tensors.items()}
