"""Which models there are for a visitor: checkpoints, their runs and those that came with the app.

Every drawing of every page asks, a class has thirty runs, and hardly any has changed since: what
stands in files is read once for each state of them.
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
from transformer.ui.about import run_config

FIRST = "en-fr"
"""The checkpoint that is looked at until another is chosen, if it is there: addresses that name
none mean it."""
LISTED_FOR = 0.1
"""Seconds for which a thread trusts its own list of checkpoints."""
_own = threading.local()
Stamp = tuple[int, ...]


@dataclass(frozen=True)
class Listed:
    """A checkpoint that is there.

    Attributes:
        label: what it is called where one chooses a model.
        weights: how many it has; 0 if it cannot be opened, as far as that is seen without reading
            them.
        is_run: whether it is a run's of this server; holders: then the visitors whose run it is.
    """

    path: Path
    label: str
    weights: int
    is_run: bool = False
    holders: tuple[str, ...] = ()


def listed(checkpoints: Path, runs: Path, visitor: str) -> dict[str, Listed]:
    """What this visitor may see, by name, in the order of `models.checkpoints`."""
    # One drawing of a page asks several times, on a thread of its own, and each would read folders.
    asked = checkpoints, runs, visitor
    since, before, found = getattr(_own, "last", (-math.inf, None, {}))
    if before != asked or time.monotonic() > since + LISTED_FOR:
        found = _found(checkpoints, runs, visitor)
        _own.last = time.monotonic(), asked, found
    return dict(found)


def _found(checkpoints: Path, runs: Path, visitor: str) -> dict[str, Listed]:
    alone = sorted(_folders(checkpoints), key=lambda path: (path.name != FIRST, path.name))
    found = {path.name: Listed(path, path.name, weights(path)) for path in alone if _is_one(path)}
    for run in _folders(runs):
        if _is_one(run / "checkpoint") and (one := _of_run(run, visitor)):
            found.setdefault(run.name, one)
    shipped = checkpoints / RUNS
    if stamp := _stamp(shipped):
        for name, one in _shipped(shipped, stamp).items():
            found.setdefault(name, one)
    return found


def _of_run(run: Path, visitor: str) -> Listed | None:
    """None for a run on sentences of somebody's, which is theirs until they share it."""
    path, of = (
        run / "checkpoint",
        _whose(run, _stamp(run / "config.json"), _stamp(run / "job.json")),
    )
    if of is None:
        return Listed(path, run.name, weights(path))
    title, shared, held_by = of
    if not shared and visitor not in held_by:
        return None
    label = f"run: {title or run.name} ({run.name})"
    return Listed(path, label, weights(path), is_run=True, holders=held_by)


@lru_cache(maxsize=4096)
def _whose(run: Path, config: Stamp, job: Stamp) -> tuple[str, bool, tuple[str, ...]] | None:
    """Title, whether others may see it, who has it; None if no run is described there."""
    found = run_config(run / "checkpoint")
    if found is None:
        return None
    said = JobFolder(run).job()
    return found.title, is_shared(found, said), holders(found, said)


@lru_cache(maxsize=4)
def _shipped(root: Path, _: Stamp) -> dict[str, Listed]:
    """Those of the runs that came with the app, which stay as they are."""
    found = {}
    for run in shipped_folders(root):
        if run.has_own_checkpoint:
            path, config = run.checkpoint_path, run.title_and_owner()
            found[run.name] = Listed(path, f"toy: {config.title or run.name}", weights(path))
    return found


def weights(path: Path) -> int:
    """How many a checkpoint has; 0 for one that cannot be opened, as far as that is seen."""
    return _counted(path, _stamp(path / "config.json"), _stamp(path / "model.safetensors"))


@lru_cache(maxsize=1024)
def _counted(path: Path, *stamps: Stamp) -> int:
    try:
        check_checkpoint(path)
        return count_parameters(load_config(path))
    except (OSError, ValueError):
        return 0


def _stamp(path: Path) -> Stamp:
    """What changes with the file; nothing while there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_one(path: Path) -> bool:
    return (path / "config.json").is_file()


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
