"""A model as one safetensors file, as the page that trains in a browser saves it.

The file's metadata hold `config` (the JSON of a checkpoint's config.json) and `symbols` (a JSON
list of the words of its vocabulary, in order, without the special ones).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch

from transformer.checkpoint import (
    CARD,
    CONFIG,
    FORMAT,
    VOCABULARY,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    open_weights,
)
from transformer.model import Transformer
from transformer.text import Vocabulary

SUFFIX = ".safetensors"
_CARD = "A small model that was trained in a browser with Heads Up.\n"


def open_model_file(
    path: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, Vocabulary]:
    """Load model and vocabulary of such a file.

    Raises:
        CheckpointError: if the file lacks the metadata, or as `load_checkpoint`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkpoint"
        unpack_model_file(path, folder)
        try:
            return load_checkpoint(folder, device)
        except CheckpointError as error:
            raise CheckpointError(_naming(path, folder, error)) from error


def unpack_model_file(path: Path, folder: Path) -> None:
    """Write the checkpoint folder of such a file; `folder` must not exist.

    Raises CheckpointError if the file lacks the metadata or its symbols make no vocabulary.
    """
    with open_weights(path) as file:
        metadata = file.metadata() or {}
    config, symbols = (_json(path, metadata, name) for name in ("config", "symbols"))
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        raise CheckpointError(f"{path}: its symbols must be a list of words")
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: its config must be a JSON object")
    try:
        vocabulary = Vocabulary.from_symbols(symbols)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    folder.mkdir()
    (folder / CONFIG).write_text(json.dumps({"format": FORMAT, **config}), encoding="utf-8")
    (folder / VOCABULARY).write_bytes(vocabulary.to_bytes())
    (folder / CARD).write_text(_CARD, encoding="utf-8")
    shutil.copyfile(path, folder / WEIGHTS)


def _json(path: Path, metadata: dict[str, str], name: str) -> Any:
    if name not in metadata:
        raise CheckpointError(
            f"{path} has no {name} in its metadata; a single file must be one that the page Train "
            "saves in a browser, and any other checkpoint is a folder"
        )
    try:
        return json.loads(metadata[name])
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: its {name} is not JSON: {error}") from error


def _naming(path: Path, folder: Path, error: CheckpointError) -> str:
    """Return the error's sentence with the name of the file instead of the unpacked one."""
    text = str(error)
    for name in (WEIGHTS, CONFIG, VOCABULARY):
        text = text.replace(str(folder / name), str(path))
    return text.replace(str(folder), str(path))
