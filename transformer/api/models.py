"""Checkpoints, loaded once for all visitors of the server."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from transformer.analysis.alignment.aligner_head import AlignerHead, load_aligner_head
from transformer.api import model_list, server_paths
from transformer.api.model_description import ModelDescription, describe_model
from transformer.api.model_list import ListedModel
from transformer.api.sized_cache import SizedCache
from transformer.app_folders import SHIPPED_RUNS, checkpoints_folder
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator
from transformer.jobs import runs_folder
from transformer.jobs.limits import Limits
from transformer.text.door import Refusal, quoted


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint; `hash` changes when its files do.

    Attributes:
        aligner: the cross-attention head that aligns words best on gold links; None if it was not
            measured for these weights.
    """

    name: str
    hash: str
    translator: Translator
    description: ModelDescription = field(default_factory=ModelDescription)
    aligner: AlignerHead | None = None

    @property
    def n_layers(self) -> int:
        return self.translator.model.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.translator.model.config.n_heads

    @property
    def aligner_agreement(self) -> dict[str, Any] | None:
        return aligner_agreement(self.aligner)


def aligner_agreement(aligner: AlignerHead | None) -> dict[str, Any] | None:
    """Return the agreement of an aligner head with human-made links, on the first of its gold sets;
    None if no aligner was measured."""
    if aligner is None:
        return None
    gold = aligner.gold[0]
    error = min(gold.head[f"weights-{row}"] for row in ("output", "input"))
    return {"agreement": 1 - error, "sentences": gold.sentences, "source": gold.source}


def folder() -> Path:
    return checkpoints_folder()


def shipped_folder() -> Path:
    """Return the folder of the included example runs."""
    return folder() / SHIPPED_RUNS


def list_models(visitor: str) -> dict[str, ListedModel]:
    """Return the models that this visitor may use, by name: `model_list.DEFAULT_CHECKPOINT` first,
    the other checkpoints in alphabetical order; then runs; then the included example runs.

    Args:
        visitor: an id of `visitors`; "" for a visitor without runs.
    """
    return model_list.list_models(folder(), runs_folder(), visitor)


def without_server_paths(text: str) -> str:
    """Return `text` without paths of this server."""
    return server_paths.remove_server_paths(text, folder())


def default(models: dict[str, ListedModel]) -> str:
    """Return the name of the first model that can be opened, as far as can be checked without
    reading weights; the first of all if none can."""
    return next((name for name, model in models.items() if model.weights), next(iter(models)))


def load(name: str, path: Path) -> Model:
    """Return a checkpoint from the cache, or load it; a changed one is loaded again.

    Raises:
        CheckpointError: (a ValueError) if the folder is no valid checkpoint.
        OSError: if it cannot be read.
    """
    digest_now = digest(path)
    return described(name, path, digest_now, _load(str(path), digest_now))


def open_model(name: str, visitor: str) -> Model:
    """Return a model that this visitor may use, loaded; "" for the first one.

    Raises:
        Refusal: (a ValueError) if there is no such model.
    """
    listed = list_models(visitor)
    if not listed:
        raise Refusal("This server has no model.", 404)
    name = name or default(listed)
    if name not in listed:
        known = ", ".join([*listed][:10])
        raise Refusal(f"There is no model {quoted(name)}; there is {known}.", 404)
    return load(name, listed[name].path)


def is_loaded(path: Path) -> bool:
    """Return whether `load` needs no time."""
    return _model_cache().get((str(path), digest(path))) is not None


def described(name: str, path: Path, digest: str, translator: Translator) -> Model:
    """Return a loaded checkpoint with its description and its aligner head."""
    aligner = load_aligner_head(path, digest, translator.model.config)
    return Model(name, digest, translator, describe_model(path), aligner)


def digest(path: Path) -> str:
    """Return the checkpoint's hash; computed again when a file has changed. Raises OSError."""
    stamps = tuple(
        (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.iterdir())
    )
    return _cached_hash(path, stamps)


@lru_cache(maxsize=64)
def _cached_hash(path: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    return checkpoint_hash(path)


def _weight_bytes(translator: Translator) -> int:
    """Return the bytes of the weights and of the copies that decoding makes."""
    return 2 * sum(weight.nbytes for weight in translator.model.parameters())


@cache
def _model_cache() -> SizedCache[Translator]:
    """Return the cache, from which the least recently used model is removed first."""
    return SizedCache(Limits.load().model_bytes, _weight_bytes)


def _load(path: str, digest: str) -> Translator:
    def load_once() -> Translator:
        translator = Translator.load(path)
        # The loaded objects stay: exclude them from later garbage collections.
        gc.collect()
        gc.freeze()
        return translator

    return _model_cache().get_or_make((path, digest), load_once)


def load_first_visit_model() -> Model | None:
    """Load the model for a visitor without runs before the first one comes."""
    with suppress(OSError, ValueError):  # the page shows what is wrong with it
        for name, listed in list_models("").items():
            if listed.weights:
                return load(name, listed.path)
    return None
