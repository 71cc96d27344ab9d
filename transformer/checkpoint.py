"""A checkpoint is a folder: config.json, model.safetensors, vocabulary.model, README.md.

Weights are safetensors, never a pickle: loading one runs no code of whoever made it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary

CONFIG, WEIGHTS, VOCABULARY, CARD = (
    "config.json",
    "model.safetensors",
    "vocabulary.model",
    "README.md",
)
FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that is missing, cut off, or does not fit together; one sentence says why."""


def save_checkpoint(
    folder: str | os.PathLike[str],
    model: Transformer,
    vocabulary: Vocabulary,
    card: str,
    *,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write the folder so that a reader finds the old one whole or the new one whole.

    Args:
        folder: made, or its four files replaced one by one, each atomically.
        card: the model card, Markdown, for README.md.
        dtype: of the stored weights; float16 halves the file and rounds to 11 bits.

    Raises:
        ValueError: if the vocabulary does not fit the model.
    """
    vocabulary.check(model.config)
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    config = json.dumps({"format": FORMAT, **model.config.to_dict()}, indent=2) + "\n"
    weights = {
        name: p.detach().to("cpu", dtype).contiguous() for name, p in model.named_parameters()
    }
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as made:
        staged = Path(made) / "checkpoint"
        staged.mkdir()
        (staged / VOCABULARY).write_bytes(vocabulary.to_bytes())
        (staged / CONFIG).write_text(config, encoding="utf-8")
        (staged / CARD).write_text(card, encoding="utf-8")
        (staged / WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))
        if not target.exists():
            os.rename(staged, target)
            return
        for name in (VOCABULARY, CONFIG, CARD, WEIGHTS):
            os.replace(staged / name, target / name)


def load_config(folder: str | os.PathLike[str]) -> ModelConfig:
    """The model's shape, without its weights.

    Raises:
        CheckpointError: if the folder is none, or its config.json is missing, cut off or wrong.
    """
    path = _file(folder, CONFIG)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        made_as = values.pop("format", None)
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise CheckpointError(
            f"{path} is not the JSON object of a model config: {error}"
        ) from error
    if made_as != FORMAT:
        raise CheckpointError(f"{path} has format {made_as!r}; this version reads format {FORMAT}")
    try:
        return ModelConfig.from_dict(values)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error


def load_checkpoint(
    folder: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> tuple[Transformer, Vocabulary]:
    """Model in eval mode (float32, no gradients) and vocabulary, strictly: nothing may be missing.

    Raises:
        CheckpointError: a missing, cut-off or mismatched file, in one sentence with both numbers.
    """
    config = load_config(folder)
    try:
        vocabulary = Vocabulary.load(_file(folder, VOCABULARY))
        vocabulary.check(config)
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    with torch.random.fork_rng(devices=[]):  # random start values must not move the caller's
        model = Transformer(config)
    expected = {name: tuple(p.shape) for name, p in model.named_parameters()}
    model.load_state_dict(_read_weights(_file(folder, WEIGHTS), expected))
    return model.to(device).eval().requires_grad_(False), vocabulary


def checkpoint_hash(folder: str | os.PathLike[str]) -> str:
    """16 hexadecimal digits of what the model computes with: config, weights and vocabulary."""
    digest = hashlib.sha256()
    for name in (CONFIG, WEIGHTS, VOCABULARY):
        with _file(folder, name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _file(folder: str | os.PathLike[str], name: str) -> Path:
    path = Path(folder)
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint folder {path}")
    if not (path / name).is_file():
        there = ", ".join(sorted(p.name for p in path.iterdir())[:8]) or "nothing"
        raise CheckpointError(f"the checkpoint {path} has no {name}; it holds {there}")
    return path / name


def _read_weights(path: Path, expected: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """All tensors as float32, each of the shape the config asks for and finite."""
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        size = path.stat().st_size
        raise CheckpointError(
            f"{path} ({size} bytes) is cut off or is not a safetensors file: {error}"
        ) from error
    missing, unknown = expected.keys() - found.keys(), found.keys() - expected.keys()
    if missing or unknown:
        example = sorted(missing or unknown)[0]
        raise CheckpointError(
            f"{path} does not fit its config.json: {len(found)} tensors where the config asks for "
            f"{len(expected)} ({example} is {'missing' if missing else 'not in the model'})"
        )
    for name, shape in expected.items():
        if tuple(found[name].shape) != shape:
            raise CheckpointError(
                f"{path}: {name} has shape {tuple(found[name].shape)}, config.json asks for {shape}"
            )
        if not bool(torch.isfinite(found[name]).all()):
            raise CheckpointError(f"{path}: {name} holds a number that is not finite")
    return found
