"""What the client knows before its first request: the models, and what is the same for all of them.

The app's server sends it as the answer of the request "models"; the static site contains it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from safetensors import safe_open

from transformer.analysis.alignment.aligner_head import ALIGNER_FILE, AlignerHead, load_aligner_head
from transformer.api import model_files, model_list
from transformer.api.address_fields import DEPTHS, try_fields
from transformer.api.model_description import ModelDescription, describe_model
from transformer.api.model_list import ListedModel
from transformer.api.models import aligner_agreement, digest
from transformer.api.requests import ABLATIONS, METHODS
from transformer.checkpoint import VOCABULARY, WEIGHTS, load_config
from transformer.config import ModelConfig
from transformer.figures.packed_trace import aligner_fields, fixed_header
from transformer.text.files import Stamp, file_stamp


def client_data(
    models: Mapping[str, Any], methods: Collection[str], files: Collection[str] = ()
) -> dict[str, Any]:
    """Return the data of these models (`model_data`) with what is the same for all of them.

    Args:
        methods: the decoding methods of the engine, of `METHODS`.
        files: formats in which it writes the explorer's traces.
    """
    return {
        "models": dict(models),
        "explorer": fixed_header(),
        "fields": try_fields(),
        "depths": list(DEPTHS.items()),
        "ablations": ABLATIONS,
        "methods": {name: METHODS[name] for name in methods},
        "files": list(files),
    }


def model_data(
    label: str, description: ModelDescription, config: ModelConfig, aligner: AlignerHead | None
) -> dict[str, Any]:
    """Return what the client knows of a model."""
    return {
        "label": label,
        **description.browser_data(),
        "config": config.to_dict(),
        "aligner": aligner_fields(aligner),
        "aligner_agreement": aligner_agreement(aligner),
    }


def listed_models(models: Mapping[str, ListedModel], visitor: str) -> dict[str, Any]:
    """Return the data of the models on the server that can be opened, without loading them.

    `files` are those with which a browser can run the model itself (`model_files`); null if it
    cannot. `in_menu` is false for other visitors' runs, which only links name. `prepared` has no
    picture: the client asks for the first one too.
    """
    data = {}
    for name, listed in models.items():
        if listed.weights:
            with suppress(OSError, ValueError):  # changed or deleted meanwhile
                data[name] = {
                    **_listed_model(name, listed.path, *_stamps(listed.path)),
                    "label": model_list.label(name, listed),
                    "is_run": listed.is_run,
                    "in_menu": not listed.is_run or visitor in listed.holders,
                    "prepared": {"text": None},
                }
    return data


def _stamps(path: Path) -> list[Stamp | None]:
    return [file_stamp(path / name) for name in ("config.json", WEIGHTS, VOCABULARY, ALIGNER_FILE)]


@lru_cache(maxsize=256)
def _listed_model(name: str, path: Path, *stamps: Stamp | None) -> dict[str, Any]:
    config = load_config(path)
    has_aligner = (path / ALIGNER_FILE).is_file()
    aligner = load_aligner_head(path, digest(path), config) if has_aligner else None
    return {
        **model_data("", describe_model(path), config, aligner),
        "files": model_files.browser_files(name, path),
        "weights": _weight_count(path / WEIGHTS),
    }


def _weight_count(file: Path) -> int:
    with safe_open(file, framework="np") as tensors:
        return sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
