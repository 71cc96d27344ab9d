"""The models that a visitor may use: checkpoints, the visitor's runs and the included example runs.

Every rerun of every page needs this list. Files are read again only after they have changed.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from transformer.api.model_description import run_config
from transformer.app_folders import SHIPPED_RUNS
from transformer.checkpoint import check_checkpoint, load_config
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import is_shared
from transformer.jobs.limits import count_parameters
from transformer.jobs.shipped import shipped_folders
from transformer.text.files import Stamp, file_stamp

DEFAULT_CHECKPOINT = "en-fr"
"""The default checkpoint, if it exists; addresses without a model refer to it."""
MAX_LABEL = 20
"""Greatest number of characters of a label, which fit into the menu of models (`page.MODEL_WIDTH`).
"""
LIST_MAX_AGE_SECONDS = 0.1
"""Seconds for which a thread reuses its list of models."""
_cached_list = threading.local()


@dataclass(frozen=True)
class ListedModel:
    """A checkpoint in the list.

    Attributes:
        label: its name in the menu of models, at most `MAX_LABEL` characters.
        weights: number of weights; 0 if it cannot be opened, as far as that can be checked without
            reading them.
        is_run: whether it belongs to a run of this server; holders: the visitors whose run it is.
    """

    path: Path
    label: str
    weights: int
    is_run: bool = False
    holders: tuple[str, ...] = ()


def list_models(checkpoints: Path, runs: Path, visitor: str) -> dict[str, ListedModel]:
    """Return this visitor's models by name, in the order of `models.checkpoints`."""
    # One rerun calls this several times, on its own thread; each call would read folders.
    request = checkpoints, runs, visitor
    cached_at, previous_request, models = getattr(_cached_list, "last", (-math.inf, None, {}))
    if previous_request != request or time.monotonic() > cached_at + LIST_MAX_AGE_SECONDS:
        models = _read_models(checkpoints, runs, visitor)
        _cached_list.last = time.monotonic(), request, models
    return dict(models)


def _read_models(checkpoints: Path, runs: Path, visitor: str) -> dict[str, ListedModel]:
    checkpoint_folders = sorted(
        _folders(checkpoints), key=lambda path: (path.name != DEFAULT_CHECKPOINT, path.name)
    )
    models = {
        path.name: ListedModel(path, shortened(path.name), count_weights(path))
        for path in checkpoint_folders
        if _is_checkpoint(path)
    }
    for run in _folders(runs):
        if _is_checkpoint(run / "checkpoint") and (model := _model_of_run(run, visitor)):
            models.setdefault(run.name, model)
    shipped = checkpoints / SHIPPED_RUNS
    if stamp := file_stamp(shipped):
        for name, model in _shipped_models(shipped, stamp).items():
            models.setdefault(name, model)
    return models


def _model_of_run(run: Path, visitor: str) -> ListedModel | None:
    """Return a run's model; None if it uses another visitor's sentences and is not shared."""
    path, details = (
        run / "checkpoint",
        _run_details(run, file_stamp(run / "config.json"), file_stamp(run / "job.json")),
    )
    if details is None:
        return ListedModel(path, shortened(run.name), count_weights(path))
    title, shared, holders = details
    if not shared and visitor not in holders:
        return None
    label = shortened(title, f" ({run.name.rpartition('-')[2]})") if title else shortened(run.name)
    return ListedModel(path, label, count_weights(path), is_run=True, holders=holders)


@lru_cache(maxsize=4096)
def _run_details(
    run: Path, config: Stamp | None, job: Stamp | None
) -> tuple[str, bool, tuple[str, ...]] | None:
    """Return title, whether it is shared, and its holders; None if the folder describes no run."""
    settings = run_config(run / "checkpoint")
    if settings is None:
        return None
    folder = JobFolder(run)
    job_file = folder.job()
    return settings.title, is_shared(settings, job_file), folder.holders(job_file)


@lru_cache(maxsize=4)
def _shipped_models(root: Path, _: Stamp) -> dict[str, ListedModel]:
    """Return the models of the included example runs, which never change."""
    models = {}
    for run in shipped_folders(root):
        if run.has_own_checkpoint:
            path = run.checkpoint_path
            label = shortened(f"toy: {run.name.removeprefix('toy-')}")
            models[run.name] = ListedModel(path, label, count_weights(path))
    return models


def label(name: str, listed: ListedModel) -> str:
    """Return a model's label in the menu, with its number of weights if there is room."""
    if not listed.weights:
        return shortened(name, " (unreadable)")
    with_size = f"{listed.label} · {format_millions(listed.weights)}"
    return with_size if len(with_size) <= MAX_LABEL else listed.label


def format_millions(count: int) -> str:
    """Format a number of weights: "13M", "0.3M"."""
    return f"{count / 1e6:.0f}M" if count >= 9_500_000 else f"{count / 1e6:.1f}M"


def shortened(text: str, ending: str = "") -> str:
    """Return the text with the ending, at most `MAX_LABEL` characters. Without an ending, the
    middle of a longer text becomes an ellipsis, because names often differ only at their ends."""
    room = MAX_LABEL - len(ending)
    if len(text) > room:
        tail = 0 if ending else room // 3
        text = f"{text[: room - 1 - tail].rstrip()}…{text[len(text) - tail :]}"
    return text + ending


def count_weights(path: Path) -> int:
    """Return the number of weights; 0 if config or file header show an invalid checkpoint."""
    return _count_weights(
        path, file_stamp(path / "config.json"), file_stamp(path / "model.safetensors")
    )


@lru_cache(maxsize=1024)
def _count_weights(path: Path, *stamps: Stamp | None) -> int:
    try:
        check_checkpoint(path)
        return count_parameters(load_config(path))
    except (OSError, ValueError):
        return 0


def _is_checkpoint(path: Path) -> bool:
    return (path / "config.json").is_file()


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
