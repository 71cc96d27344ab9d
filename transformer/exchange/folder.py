"""Reading folders of `transformers` (JSON, weights, card) without running code from them."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoint import DTYPES, CheckpointError, open_weights, read_card
from transformer.text.languages import (
    Languages,
    check_languages,
    front_matter,
    languages_from_card,
    languages_from_name,
)

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


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises CheckpointError for anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise CheckpointError(f"{path} is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is truncated or not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} must contain a JSON object, not {type(content).__name__}")
    return content


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


_LICENCE = re.compile(r"^license\s*:\s*['\"]?([\w.+-]{1,64})['\"]?\s*$", re.MULTILINE)
_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")


def imported_card(path: Path, marian_config: Mapping[str, Any], languages: Languages | None) -> str:
    """Return the card of an imported model: front matter, origin, and the original card.

    Args:
        marian_config: its config.json, which may contain the name of its repository.
    """
    original_card = read_card(path)
    licence = _LICENCE.search(original_card)
    codes = languages or _languages(path, original_card)
    front = front_matter(codes).removesuffix("---\n\n") if codes else "---\n"
    if licence:
        front += f"license: {licence[1]}\n"
    name = marian_config.get("_name_or_path")
    has_repository = isinstance(name, str) and _REPOSITORY.fullmatch(name)
    lines = [
        f"# {_model_name(path)}",
        "A Marian model, imported by `python -m transformer import`. Its weights are those of "
        f"{f'`{name}`' if has_repository else 'the original folder'}; it was not trained further.",
        f"Licence according to its card: {licence[1]}."
        if licence
        else "Its card does not name a licence.",
    ]
    card_text = _body(original_card)
    if card_text:
        lines += ["## Original model card", card_text]
    return f"{front}---\n\n" + "\n\n".join(lines) + "\n"


def _model_name(folder: Path) -> str:
    """Return the folder's name; for a folder of the hub's cache, such as
    `models--OWNER--NAME/snapshots/COMMIT`, return NAME."""
    path = folder.absolute()
    return path.parents[1].name.split("--")[-1] if path.parent.name == "snapshots" else path.name


def _body(card: str) -> str:
    """Return a card without its front matter."""
    parts = re.split(r"^---\s*$", card, maxsplit=2, flags=re.MULTILINE)
    has_front_matter = len(parts) == 3 and not parts[0].strip()
    return (parts[2] if has_front_matter else card).strip()


def _languages(path: Path, card: str) -> Languages | None:
    """Return the languages from the card, the tokenizer, or the folder's name "opus-mt-en-fr"."""
    tokenizer = optional_json(path, "tokenizer_config.json")
    sources: tuple[Callable[[], Languages | None], ...] = (
        lambda: languages_from_card(card),
        lambda: check_languages([tokenizer["source_lang"], tokenizer["target_lang"]]),
        lambda: languages_from_name("-".join(_model_name(path).split("-")[-2:])),
    )
    for read_source in sources:
        try:
            if codes := read_source():
                return codes
        except (ValueError, KeyError):  # a multilingual model, or no language
            continue
    return None
