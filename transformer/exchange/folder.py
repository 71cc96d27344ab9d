"""Reading a folder of `transformers` without running anything of it: JSON and safetensors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.checkpoint import DTYPES, CheckpointError

WEIGHTS, PICKLED, SHARDED = (
    "model.safetensors",
    "pytorch_model.bin",
    "model.safetensors.index.json",
)


def there(folder: Path, name: str) -> Path:
    """Raises CheckpointError, with what the folder holds, if there is no such file."""
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder} is a file; a model of transformers is a folder"
            if folder.exists()
            else f"there is no folder {folder}"
        )
    if not (folder / name).is_file():
        holds = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        raise CheckpointError(f"{folder} has no {name}; it holds {holds}")
    return folder / name


def read_json(path: Path) -> dict[str, Any]:
    """Raises CheckpointError unless the file holds a JSON object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise CheckpointError(f"{path} is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is cut off or is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} must hold a JSON object, not {type(found).__name__}")
    return found


def optional_json(folder: Path, name: str) -> dict[str, Any]:
    """The same, or nothing where there is no such file."""
    return read_json(folder / name) if (folder / name).is_file() else {}


def read_weights(folder: Path, *, pickled: bool = False) -> dict[str, Tensor]:
    """Every tensor of the folder, as float32.

    Args:
        pickled: read pytorch_model.bin, a pickle, where there is no safetensors file. torch then
            builds tensors and plain containers alone (`weights_only`).

    Raises:
        CheckpointError: for a file that is missing, cut off, or holds what is no weight.
    """
    if not (folder / WEIGHTS).is_file() and (folder / PICKLED).is_file():
        if not pickled:
            raise CheckpointError(
                f"{folder} has its weights in {PICKLED}, a pickle, which is not read: write "
                f"{WEIGHTS} with transformers, by save_pretrained of the loaded model, or read it "
                "as weights alone with --read-bin"
            )
        return _read_pickled(folder / PICKLED)
    if not (folder / WEIGHTS).is_file() and (folder / SHARDED).is_file():
        raise CheckpointError(
            f"{folder} has its weights in several files; write one, by save_pretrained with "
            "max_shard_size='100GB'"
        )
    path = there(folder, WEIGHTS)
    try:
        with safe_open(path, framework="pt") as file:
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            for name, kind in kinds.items():
                if kind not in DTYPES:
                    raise CheckpointError(
                        f"{path}: {name} is of type {kind}; weights are {', '.join(DTYPES)}"
                    )
            return {name: file.get_tensor(name).float() for name in kinds}
    except (SafetensorError, OSError) as error:
        size = path.stat().st_size
        raise CheckpointError(
            f"{path} ({size} bytes) is cut off or is not a safetensors file: {error}"
        ) from error


def _read_pickled(path: Path) -> dict[str, Tensor]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise CheckpointError(
            f"{path} is cut off, or is no file of weights alone ({type(error).__name__})"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(t, Tensor) for t in found.values()):
        raise CheckpointError(f"{path} must hold tensors by name, and nothing else")
    return {name: tensor.float() for name, tensor in found.items()}
