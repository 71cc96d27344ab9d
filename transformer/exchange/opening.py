"""Open a model by path or name: a checkpoint or a Marian folder, local or on the hub."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import torch

from transformer.app_folders import find_checkpoint, named_checkpoints
from transformer.checkpoint import CheckpointError, load_checkpoint
from transformer.exchange.generation_settings import ignored_settings
from transformer.exchange.importing import is_marian, read_marian
from transformer.exchange.model_file import SUFFIX, open_model_file
from transformer.model import Transformer
from transformer.text import Vocabulary


def resolve_folder(path: str | os.PathLike[str], revision: str | None = None) -> Path:
    """Return the folder for a path, a checkpoint's name or a name on the hub.

    "owner/name" is looked up on the hub only if there is no such path and no folder "owner" in the
    working directory. Any other path is returned unchanged, so that opening it reports the
    error.

    Raises:
        CheckpointError: as `hub.download`; also for a revision of a model that is not on the hub.
        ImportError: for a name on the hub, without the package huggingface_hub.
    """
    folder = find_checkpoint(path)
    parts = Path(path).parts
    named_like_hub = len(parts) == 2 and parts[0][0] not in "./\\~"
    if folder.exists() or not named_like_hub or Path(parts[0]).exists():
        if revision is not None:
            raise CheckpointError(
                f"{path} is not on the hub; only models on the hub have a revision such as "
                f"{revision!r}"
            )
        return folder
    name = "/".join(parts)
    try:
        from transformer.exchange.hub import download
    except ModuleNotFoundError as error:
        names = ", ".join(named_checkpoints()) or "none"
        raise ImportError(
            f"there is no folder {name}, and loading it from the Hugging Face hub needs the "
            f'package huggingface_hub: pip install "heads-up[hub]"; these can be loaded by name: '
            f"{names}"
        ) from error
    return download(name, revision)


def open_folder(folder: Path, device: torch.device | str = "cpu") -> tuple[Transformer, Vocabulary]:
    """Load model and vocabulary of a checkpoint, of a Marian folder, or of a file that a browser
    saved; with a warning for `ignored_settings`. Raises CheckpointError as `load_checkpoint`,
    `read_marian` and `open_model_file`."""
    if folder.suffix == SUFFIX and folder.is_file():
        return open_model_file(folder, device)
    if not is_marian(folder):
        return load_checkpoint(folder, device)
    model, vocabulary, _ = read_marian(folder)
    if ignored := ignored_settings(folder):
        warnings.warn(f"{folder}: {ignored}", stacklevel=2)
    return model.to(device), vocabulary
