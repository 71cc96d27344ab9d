"""Checkpoints, found and loaded once for all sessions."""

from __future__ import annotations

import gc
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import streamlit as st

from transformer.checkpoint import check_checkpoint, checkpoint_hash
from transformer.inference import Translator
from transformer.jobs import runs_folder
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import is_shared
from transformer.training.seen import Seen
from transformer.ui import state, visitor
from transformer.ui.address import EXAMPLES

FOLDER = "HEADS_UP_CHECKPOINTS"
"""Environment variable: the folder whose folders are checkpoints, instead of `checkpoints/`."""
LOADED = 2
"""Models that are kept in memory; the one loaded first makes room."""


@dataclass(frozen=True)
class About:
    """What a model reads and writes.

    Attributes:
        kind: models of one kind can read one another's texts; "" for languages.
        source, target: what the two sides are called.
        examples: texts to begin with.
        hint: how to write one.
    """

    kind: str = ""
    source: str = "English"
    target: str = "French"
    examples: tuple[str, ...] = EXAMPLES
    hint: str = "Type a sentence"

    @property
    def heading(self) -> str:
        """Above a translation; the text takes the place of the braces."""
        return "“{}” in French" if self.target == "French" else "What it makes of “{}”"


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint; `hash` changes when its files do."""

    name: str
    hash: str
    translator: Translator
    about: About = About()

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
    """Folders that look like a checkpoint, by name, in the alphabet's order; then those of runs
    that this visitor may see, by the run's name."""
    found = {path.name: path for path in _folders(folder()) if (path / "config.json").is_file()}
    for path in _folders(runs_folder()):
        if (path / "checkpoint" / "config.json").is_file() and _may_see(path):
            found.setdefault(path.name, path / "checkpoint")
    return found


def _may_see(run: Path) -> bool:
    """Whether this visitor may: a run on sentences of somebody's is theirs until they share it."""
    config = _config_of_run(run / "checkpoint")
    if not config or config.get("owner") in ("", None, visitor.known()):
        return True
    return is_shared(config, JobFolder(run).job())


def written(name: str) -> Path:
    """The folder of a checkpoint as one writes it in the folder of this app; a program that a
    visitor reads tells no more of the server than that."""
    path, home = checkpoints()[name].resolve(), Path.cwd()
    return path.relative_to(home) if path.is_relative_to(home) else path


def offered() -> dict[str, str]:
    """What this visitor may choose from, name to label: all but other people's runs, and of those
    the one that is looked at."""
    view, mine = state.view(), visitor.known()
    labels = {}
    for name, path in checkpoints().items():
        config = _config_of_run(path)
        if not config:
            labels[name] = name if opens(path) else f"{name} (cannot be opened)"
        elif name in (view.model, view.other_model) or (mine and config.get("owner") == mine):
            labels[name] = f"run: {config.get('title') or name} ({name})"
    return labels


def default() -> str:
    """The first checkpoint that can be opened, as far as that is seen without reading weights; the
    first of all if none can."""
    folders = checkpoints()
    return next((name for name, path in folders.items() if opens(path)), next(iter(folders)))


def opens(path: Path) -> bool:
    """Whether config.json and the weights' header fit together; looked at once."""
    try:
        files = [path / "config.json", path / "model.safetensors"]
        return _opens(path, tuple(file.stat().st_mtime_ns for file in files))
    except OSError:
        return False


@lru_cache(maxsize=1024)
def _opens(path: Path, stamps: tuple[int, ...]) -> bool:
    try:
        check_checkpoint(path)
    except (OSError, ValueError):
        return False
    return True


def about(path: Path) -> About:
    """What the model in the checkpoint folder `path` reads and writes."""
    config = _config_of_run(path)
    if not config:
        return About()
    data = config.get("data") or {}
    task = str(data.get("task", "")) if isinstance(data, dict) else ""
    sources: list[str] = []
    with suppress(TypeError, ValueError, KeyError):  # what stands in a file may be anything
        sources = [str(src) for src, _ in config.get("probes") or ()]
        if not sources:
            looks = Seen(path.parent).examples()
            sources = [str(example["src"]) for look in looks[:1] for example in look["examples"]]
    examples = tuple(dict.fromkeys(sources))[:4]
    if task == "french":
        return About(task, "English", "French", examples, "the black cat sleeps .")
    hint = "Symbols with blanks between them" if task else "Type a sentence"
    return About(task or path.parent.name, "Source", "Target", examples, hint)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _config_of_run(path: Path) -> Mapping[str, Any]:
    """The config.json of the run that the checkpoint is of; empty for one that stands alone."""
    if path.name != "checkpoint":
        return {}
    file = path.parent / "config.json"
    try:
        return _read_config(file, file.stat().st_mtime_ns)
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=1024)
def _read_config(file: Path, stamp: int) -> Mapping[str, Any]:
    found = json.loads(file.read_text(encoding="utf-8"))
    return MappingProxyType(found if isinstance(found, dict) else {})


def load(name: str, path: Path) -> Model:
    """Load a checkpoint, or find it loaded; a changed one is loaded anew.

    Raises:
        CheckpointError: a ValueError that says what is wrong with the folder.
    """
    stamps = tuple(
        (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.iterdir())
    )
    digest = _hash(path, stamps)
    return Model(name, digest, _load(str(path), digest), about(path))


@lru_cache(maxsize=16)
def _hash(path: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    return checkpoint_hash(path)


_loaded: OrderedDict[tuple[str, str], Translator] = OrderedDict()
_loading = Lock()


def _load(path: str, digest: str) -> Translator:
    """Once for all sessions, whatever they clear."""
    key = path, digest
    if found := _loaded.get(key):
        return found
    with st.spinner("Loading the model …"), _loading:
        if key not in _loaded:
            _loaded[key] = Translator.load(path)
            while len(_loaded) > LOADED:
                _loaded.popitem(last=False)
            # What is loaded by now stays; collections need not walk through all of it again.
            gc.collect()
            gc.freeze()
        return _loaded[key]
