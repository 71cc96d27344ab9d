"""Checkpoints, found and loaded once for all sessions."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator

FOLDER = "HEADS_UP_CHECKPOINTS"
"""Environment variable: the folder whose folders are checkpoints, instead of `checkpoints/`."""


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint; `hash` changes when its files do."""

    name: str
    hash: str
    translator: Translator

    @property
    def n_layers(self) -> int:
        return self.translator.model.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.translator.model.config.n_heads


def folder() -> Path:
    """Where checkpoints lie."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else Path(__file__).resolve().parents[2] / "checkpoints"


def checkpoints() -> dict[str, Path]:
    """Folders that look like a checkpoint, by name, in the alphabet's order."""
    try:
        found = sorted(path for path in folder().iterdir() if (path / "config.json").is_file())
    except OSError:
        return {}
    return {path.name: path for path in found}


def load(name: str, path: Path) -> Model:
    """Load a checkpoint, or find it loaded; a changed one is loaded anew.

    Raises:
        CheckpointError: a ValueError that says what is wrong with the folder.
    """
    stamps = tuple(
        (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.iterdir())
    )
    digest = _hash(path, stamps)
    return Model(name, digest, _load(str(path), digest))


@lru_cache(maxsize=16)
def _hash(path: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    return checkpoint_hash(path)


@st.cache_resource(max_entries=2, show_spinner="Loading the model …")
def _load(path: str, digest: str) -> Translator:
    translator = Translator.load(path)
    # What is loaded by now stays; collections need not walk through all of it again.
    gc.collect()
    gc.freeze()
    return translator
