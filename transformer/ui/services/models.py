"""Checkpoints, listed and loaded once for all sessions."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.analysis.alignment.aligner_head import AlignerHead, load_aligner_head
from transformer.app_folders import CHECKPOINTS_VARIABLE, SHIPPED_RUNS, checkpoints_folder
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator
from transformer.jobs import runs_folder
from transformer.jobs.limits import Limits
from transformer.ui.base import server_paths, state, visitor
from transformer.ui.base.model_description import ModelDescription, describe_model
from transformer.ui.services import model_list
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.model_list import MAX_LABEL, ListedModel

FOLDER_VARIABLE = CHECKPOINTS_VARIABLE


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
        """Agreement of the aligner head with human-made links, on the first of its gold sets; None
        if no aligner was measured."""
        if self.aligner is None:
            return None
        gold = self.aligner.gold[0]
        error = min(gold.head[f"weights-{row}"] for row in ("output", "input"))
        return {"agreement": 1 - error, "sentences": gold.sentences, "source": gold.source}


def folder() -> Path:
    return checkpoints_folder()


def shipped_folder() -> Path:
    """Return the folder of the included example runs."""
    return folder() / SHIPPED_RUNS


def _listed_models() -> dict[str, ListedModel]:
    return model_list.list_models(folder(), runs_folder(), visitor.current_id())


def checkpoints() -> dict[str, Path]:
    """Return checkpoint folders by name: `model_list.DEFAULT_CHECKPOINT` first, the others in
    alphabetical order; then runs that this visitor may see; then the included example runs."""
    return {name: listed.path for name, listed in _listed_models().items()}


def public_path(name: str) -> Path:
    """Return a checkpoint's folder relative to the app's, for code that is shown to visitors."""
    return Path(without_server_paths(str(checkpoints()[name])))


def without_server_paths(text: str) -> str:
    """Return `text` without paths of this server."""
    return server_paths.remove_server_paths(text, folder())


def choices() -> dict[str, str]:
    """Return the models that this visitor can choose, name to label: all except other visitors'
    runs, unless one of them is currently selected."""
    view, visitor_id = state.view(), visitor.current_id()
    labels: dict[str, str] = {}
    for name, listed in _listed_models().items():
        if (
            listed.is_run
            and name not in (view.model, view.other_model)
            and visitor_id not in listed.holders
        ):
            continue
        label = listed.label
        if not listed.weights:
            label = model_list.shortened(name, " (unreadable)")
        elif len(with_size := f"{label} · {format_millions(listed.weights)}") <= MAX_LABEL:
            label = with_size
        labels[name] = name if label in labels.values() else label
    return labels


def format_millions(count: int) -> str:
    """Format a number of weights: "13M", "0.3M"."""
    return f"{count / 1e6:.0f}M" if count >= 9_500_000 else f"{count / 1e6:.1f}M"


def default() -> str:
    """Return the first checkpoint that can be opened, as far as can be checked without reading
    weights; the first of all if none can."""
    models = _listed_models()
    return next((name for name, model in models.items() if model.weights), next(iter(models)))


def load(name: str, path: Path) -> Model:
    """Return a checkpoint from the cache, or load it; a changed one is loaded again.

    Raises:
        CheckpointError: (a ValueError) if the folder is no valid checkpoint.
    """
    digest_now = digest(path)
    return _model(name, path, digest_now, _load(str(path), digest_now))


def _model(name: str, path: Path, digest: str, translator: Translator) -> Model:
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
    """Load once for all sessions; not in Streamlit's cache, which any session can clear."""
    if translator := _model_cache().get((path, digest)):
        return translator
    with st.spinner("Loading the model …"):
        return _load_once(path, digest)


def _load_once(path: str, digest: str) -> Translator:
    def load() -> Translator:
        translator = Translator.load(path)
        # The loaded objects stay: exclude them from later garbage collections.
        gc.collect()
        gc.freeze()
        return translator

    return _model_cache().get_or_make((path, digest), load)


def load_first_visit_model() -> Model | None:
    """Load the model for a visitor without runs before the first one comes."""
    with suppress(OSError, ValueError):  # the page shows what is wrong with it
        for name, listed in model_list.list_models(folder(), runs_folder(), "").items():
            if listed.weights:
                digest_now = digest(listed.path)
                translator = _load_once(str(listed.path), digest_now)
                return _model(name, listed.path, digest_now, translator)
    return None
