"""Checkpoints, found and loaded once for all sessions."""

from __future__ import annotations

import gc
import math
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import streamlit as st

from transformer.checkpoint import check_checkpoint, checkpoint_hash, load_config
from transformer.house import named_or
from transformer.inference import Translator
from transformer.jobs import runs_folder
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import holders, is_shared
from transformer.jobs.limits import Limits, count_parameters
from transformer.jobs.shipped import RUNS, folders
from transformer.run_config import RunConfig
from transformer.ui import state
from transformer.ui.about import About, about, run_config
from transformer.ui.kit.kept import Kept
from transformer.ui.server import server_paths, visitor

FOLDER = "HEADS_UP_CHECKPOINTS"
"""Environment variable: the folder whose folders are checkpoints, instead of `checkpoints/`."""
FIRST = "en-fr"
"""The checkpoint that is looked at until another is chosen, if it is there: addresses that name
none mean it."""


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint; `hash` changes when its files do."""

    name: str
    hash: str
    translator: Translator
    about: About = field(default_factory=About)

    @property
    def n_layers(self) -> int:
        return self.translator.model.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.translator.model.config.n_heads


LISTED_FOR = 0.1
"""Seconds for which a thread trusts its own list of checkpoints."""
_listed = threading.local()


def folder() -> Path:
    """Where checkpoints lie."""
    return named_or(FOLDER, "checkpoints")


def shipped_folder() -> Path:
    """Where the runs lie that came with the app."""
    return folder() / RUNS


def checkpoints() -> dict[str, Path]:
    """Folders that look like a checkpoint, by name, in the alphabet's order but for `FIRST`; then
    those of runs that this visitor may see, by the run's name; then those of the runs that came
    with the app."""
    # One drawing of a page asks several times, on a thread of its own, and each would read folders.
    asked = folder(), runs_folder(), visitor.known()
    since, before, found = getattr(_listed, "last", (-math.inf, None, {}))
    if before != asked or time.monotonic() > since + LISTED_FOR:
        found = _found()
        _listed.last = time.monotonic(), asked, found
    return dict(found)


def _found() -> dict[str, Path]:
    found = {path.name: path for path in _everybodys()}
    of_runs = [path / "checkpoint" for path in _folders(runs_folder()) if _may_see(path)]
    of_runs += _shipped(shipped_folder())
    for path in of_runs:
        if (path / "config.json").is_file():
            found.setdefault(path.parent.name, path)
    return found


def _shipped(root: Path) -> tuple[Path, ...]:
    """The checkpoints of the runs that came with the app; every page asks, and they stay."""
    try:
        return _shipped_since(root, root.stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=4)
def _shipped_since(root: Path, _: int) -> tuple[Path, ...]:
    return tuple(run.checkpoint_path for run in folders(root) if run.has_own_checkpoint)


def _everybodys() -> list[Path]:
    """The checkpoints that are no run's."""
    alone = sorted(_folders(folder()), key=lambda path: (path.name != FIRST, path.name))
    return [path for path in alone if (path / "config.json").is_file()]


def _may_see(run: Path) -> bool:
    """Whether this visitor may: a run on sentences of somebody's is theirs until they share it."""
    config = run_config(run / "checkpoint")
    if config is None:
        return True
    job = JobFolder(run).job()
    return is_shared(config, job) or visitor.known() in holders(config, job)


def written(name: str) -> Path:
    """The folder of a checkpoint as one writes it in the folder of this app; a program that a
    visitor reads tells no more of the server than that."""
    return Path(public(str(checkpoints()[name])))


def public(text: str) -> str:
    """`text` without paths of this server."""
    return server_paths.without(text, folder())


def offered() -> dict[str, str]:
    """What this visitor may choose from, name to label: all but other people's runs, and of those
    the one that is looked at."""
    view, mine = state.view(), visitor.known()
    labels = {}
    for name, path in checkpoints().items():
        config = run_config(path)
        if config is None:
            label = name
        elif path.is_relative_to(shipped_folder()):
            label = f"toy: {config.title or name}"
        elif name in (view.model, view.other_model) or _holds(mine, path.parent, config):
            label = f"run: {config.title or name} ({name})"
        else:
            continue
        count = weights(path)
        labels[name] = f"{label} · {millions(count)}" if count else f"{label} (cannot be opened)"
    return labels


def _holds(mine: str, run: Path, config: RunConfig) -> bool:
    return bool(mine) and mine in holders(config, JobFolder(run).job())


def millions(count: int) -> str:
    """A number of weights, short: "13M", "0.3M"."""
    return f"{count / 1e6:.0f}M" if count >= 9_500_000 else f"{count / 1e6:.1f}M"


def default() -> str:
    """The first checkpoint that can be opened, as far as that is seen without reading weights; the
    first of all if none can."""
    found = checkpoints()
    return next((name for name, path in found.items() if opens(path)), next(iter(found)))


def opens(path: Path) -> bool:
    """Whether config.json and the weights' header fit together; looked at once."""
    return weights(path) > 0


def weights(path: Path) -> int:
    """How many weights a checkpoint has; 0 for one that cannot be opened, as far as that is seen
    without reading them."""
    try:
        files = [path / "config.json", path / "model.safetensors"]
        return _weights(path, tuple(file.stat().st_mtime_ns for file in files))
    except OSError:
        return 0


@lru_cache(maxsize=1024)
def _weights(path: Path, stamps: tuple[int, ...]) -> int:
    try:
        check_checkpoint(path)
        return count_parameters(load_config(path))
    except (OSError, ValueError):
        return 0


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def load(name: str, path: Path) -> Model:
    """Load a checkpoint, or find it loaded; a changed one is loaded anew.

    Raises:
        CheckpointError: a ValueError that says what is wrong with the folder.
    """
    found = digest(path)
    return Model(name, found, _load(str(path), found), about(path))


def digest(path: Path) -> str:
    """The checkpoint's hash; read anew when a file has changed. Raises OSError."""
    stamps = tuple(
        (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.iterdir())
    )
    return _hash(path, stamps)


@lru_cache(maxsize=64)
def _hash(path: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    return checkpoint_hash(path)


def _size(translator: Translator) -> int:
    """Bytes, with the copies in fewer bits that decoding may make of a decoder's weights."""
    return 2 * sum(weight.nbytes for weight in translator.model.parameters())


@cache
def _loaded() -> Kept[Translator]:
    """The one that was not used for longest makes room."""
    return Kept(Limits.load().model_bytes, _size)


def _load(path: str, digest: str) -> Translator:
    """Once for all sessions, whatever they clear."""
    if found := _loaded().get((path, digest)):
        return found
    with st.spinner("Loading the model …"):
        return _load_once(path, digest)


def _load_once(path: str, digest: str) -> Translator:
    def load() -> Translator:
        made = Translator.load(path)
        # What is loaded by now stays; collections need not walk through all of it again.
        gc.collect()
        gc.freeze()
        return made

    return _loaded().once((path, digest), load)


def load_first() -> None:
    """Load what a first visitor will look at, while there is none."""
    if first := next(filter(opens, _everybodys()), None):
        with suppress(OSError, ValueError):  # its page says what is wrong with it
            _load_once(str(first), digest(first))
