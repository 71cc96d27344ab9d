"""Checkpoints, found and loaded once for all sessions."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.analysis.alignment.aligner_head import AlignerHead, load_aligner_head
from transformer.app_folders import CHECKPOINTS_VARIABLE, checkpoints_folder
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator
from transformer.jobs import runs_folder
from transformer.jobs.limits import Limits
from transformer.jobs.shipped import RUNS
from transformer.ui import state
from transformer.ui.about import About, about
from transformer.ui.services import model_list
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.model_list import ListedModel
from transformer.ui.shell import server_paths, visitor

FOLDER_VARIABLE = CHECKPOINTS_VARIABLE


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint; `hash` changes when its files do.

    Attributes:
        aligner: the cross-attention head that aligns words best, measured against gold links; None
            where nobody has measured it for these weights.
    """

    name: str
    hash: str
    translator: Translator
    about: About = field(default_factory=About)
    aligner: AlignerHead | None = None

    @property
    def n_layers(self) -> int:
        return self.translator.model.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.translator.model.config.n_heads

    @property
    def aligner_agreement(self) -> dict[str, Any] | None:
        """How well the aligner head agrees with people, on the first of its gold sets; None where
        no aligner was measured."""
        if self.aligner is None:
            return None
        gold = self.aligner.gold[0]
        error = min(gold.head[f"weights-{to}"] for to in ("output", "input"))
        return {"right": 1 - error, "sentences": gold.sentences, "source": gold.source}


def folder() -> Path:
    return checkpoints_folder()


def shipped_folder() -> Path:
    """Where the runs lie that came with the app."""
    return folder() / RUNS


def _listed_models() -> dict[str, ListedModel]:
    return model_list.list_models(folder(), runs_folder(), visitor.current_id())


def checkpoints() -> dict[str, Path]:
    """Folders that look like a checkpoint, by name, in the alphabet's order but for
    `model_list.FIRST`; then
    those of runs that this visitor may see, by the run's name; then those of the runs that came
    with the app."""
    return {name: listed.path for name, listed in _listed_models().items()}


def public_path(name: str) -> Path:
    """The folder of a checkpoint as one writes it in the folder of this app; a program that a
    visitor reads tells no more of the server than that."""
    return Path(without_server_paths(str(checkpoints()[name])))


def without_server_paths(text: str) -> str:
    """`text` without paths of this server."""
    return server_paths.remove_server_paths(text, folder())


def choices() -> dict[str, str]:
    """What this visitor may choose from, name to label: all but other people's runs, and of those
    the one that is looked at."""
    view, visitor_id = state.view(), visitor.current_id()
    labels = {}
    for name, listed in _listed_models().items():
        if (
            listed.is_run
            and name not in (view.model, view.other_model)
            and visitor_id not in listed.holders
        ):
            continue
        size = f" · {format_millions(listed.weights)}" if listed.weights else " (cannot be opened)"
        labels[name] = listed.label + size
    return labels


def format_millions(count: int) -> str:
    """A number of weights, short: "13M", "0.3M"."""
    return f"{count / 1e6:.0f}M" if count >= 9_500_000 else f"{count / 1e6:.1f}M"


def default() -> str:
    """The first checkpoint that can be opened, as far as that is seen without reading weights; the
    first of all if none can."""
    models = _listed_models()
    return next((name for name, model in models.items() if model.weights), next(iter(models)))


def load(name: str, path: Path) -> Model:
    """Load a checkpoint, or find it loaded; a changed one is loaded anew.

    Raises:
        CheckpointError: a ValueError that says what is wrong with the folder.
    """
    digest_now = digest(path)
    return _model(name, path, digest_now, _load(str(path), digest_now))


def _model(name: str, path: Path, digest: str, translator: Translator) -> Model:
    aligner = load_aligner_head(path, digest, translator.model.config)
    return Model(name, digest, translator, about(path), aligner)


def digest(path: Path) -> str:
    """The checkpoint's hash; read anew when a file has changed. Raises OSError."""
    stamps = tuple(
        (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.iterdir())
    )
    return _cached_hash(path, stamps)


@lru_cache(maxsize=64)
def _cached_hash(path: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    return checkpoint_hash(path)


def _weight_bytes(translator: Translator) -> int:
    """Bytes, with the copies in fewer bits that decoding may make of a decoder's weights."""
    return 2 * sum(weight.nbytes for weight in translator.model.parameters())


@cache
def _model_cache() -> SizedCache[Translator]:
    """The one that was not used for longest makes room."""
    return SizedCache(Limits.load().model_bytes, _weight_bytes)


def _load(path: str, digest: str) -> Translator:
    """Once for all sessions, whatever they clear."""
    if translator := _model_cache().get((path, digest)):
        return translator
    with st.spinner("Loading the model …"):
        return _load_once(path, digest)


def _load_once(path: str, digest: str) -> Translator:
    def load() -> Translator:
        translator = Translator.load(path)
        # What is loaded by now stays; collections need not walk through all of it again.
        gc.collect()
        gc.freeze()
        return translator

    return _model_cache().get_or_make((path, digest), load)


def first_visit_model() -> tuple[str, Path] | None:
    """What a visitor without runs of their own looks at, name and folder; None if there is
    nothing."""
    models = model_list.list_models(folder(), runs_folder(), "")
    return next(((name, model.path) for name, model in models.items() if model.weights), None)


def load_first_visit_model() -> Model | None:
    """Load what a first visitor will look at, while there is none."""
    if selected := first_visit_model():
        name, path = selected
        with suppress(OSError, ValueError):  # its page says what is wrong with it
            digest_now = digest(path)
            return _model(name, path, digest_now, _load_once(str(path), digest_now))
    return None
