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

from transformer.checkpoint import check_checkpoint, load_config
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import holders, is_shared
from transformer.jobs.limits import count_parameters
from transformer.jobs.shipped import RUNS, shipped_folders
from transformer.ui.model_description import run_config

DEFAULT_CHECKPOINT = "en-fr"
"""The default checkpoint, if it exists; addresses without a model refer to it."""
LIST_MAX_AGE_SECONDS = 0.1
"""Seconds for which a thread reuses its list of models."""
_cached_list = threading.local()
Stamp = tuple[int, ...]


@dataclass(frozen=True)
class ListedModel:
    """A checkpoint in the list.

    Attributes:
        label: its name in the menu of models.
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
        path.name: ListedModel(path, path.name, count_weights(path))
        for path in checkpoint_folders
        if _is_checkpoint(path)
    }
    for run in _folders(runs):
        if _is_checkpoint(run / "checkpoint") and (model := _model_of_run(run, visitor)):
            models.setdefault(run.name, model)
    shipped = checkpoints / RUNS
    if stamp := _file_stamp(shipped):
        for name, model in _shipped_models(shipped, stamp).items():
            models.setdefault(name, model)
    return models


def _model_of_run(run: Path, visitor: str) -> ListedModel | None:
    """Return a run's model; None if it uses another visitor's sentences and is not shared."""
    path, details = (
        run / "checkpoint",
        _run_details(run, _file_stamp(run / "config.json"), _file_stamp(run / "job.json")),
    )
    if details is None:
        return ListedModel(path, run.name, count_weights(path))
    title, shared, holders = details
    if not shared and visitor not in holders:
        return None
    label = f"run: {title or run.name} ({run.name})"
    return ListedModel(path, label, count_weights(path), is_run=True, holders=holders)


@lru_cache(maxsize=4096)
def _run_details(run: Path, config: Stamp, job: Stamp) -> tuple[str, bool, tuple[str, ...]] | None:
    """Return title, whether it is shared, and its holders; None if the folder describes no run."""
    settings = run_config(run / "checkpoint")
    if settings is None:
        return None
    job_file = JobFolder(run).job()
    return settings.title, is_shared(settings, job_file), holders(settings, job_file)


@lru_cache(maxsize=4)
def _shipped_models(root: Path, _: Stamp) -> dict[str, ListedModel]:
    """Return the models of the included example runs, which never change."""
    models = {}
    for run in shipped_folders(root):
        if run.has_own_checkpoint:
            path, config = run.checkpoint_path, run.readable_config()
            models[run.name] = ListedModel(
                path, f"toy: {config.title or run.name}", count_weights(path)
            )
    return models


def count_weights(path: Path) -> int:
    """Return the number of weights; 0 if config or file header show an invalid checkpoint."""
    return _count_weights(
        path, _file_stamp(path / "config.json"), _file_stamp(path / "model.safetensors")
    )


@lru_cache(maxsize=1024)
def _count_weights(path: Path, *stamps: Stamp) -> int:
    try:
        check_checkpoint(path)
        return count_parameters(load_config(path))
    except (OSError, ValueError):
        return 0


def _file_stamp(path: Path) -> Stamp:
    """Return values that change with the file; () if it does not exist."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _is_checkpoint(path: Path) -> bool:
    return (path / "config.json").is_file()


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
