"""Runs that came with the app: to look at, by everybody, and never to change.

    checkpoints/en-fr/                a checkpoint
    checkpoints/runs/toy-reverse/     a run that left its own: config.json, state.json,
                                      metrics.jsonl, examples.jsonl, snapshots/, checkpoint/
    checkpoints/runs/training-en-fr/  a run of which config.json says "checkpoint": "en-fr"

They lie beside the checkpoints, since they travel with them, and are run folders like any other
but for what only training needs. A folder of checkpoints is a folder with a config.json in it, so
`runs` is none.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from transformer.app_folders import SHIPPED_RUNS
from transformer.jobs.folder import NAME, JobFolder
from transformer.jobs.info import RunInfo, read_run_info
from transformer.run_config import FilmRun

RUNS = SHIPPED_RUNS
"""The folder of such runs in a folder of checkpoints."""


class ShippedFolder(JobFolder):
    """A run of these. Its checkpoint is its own, or the one beside the runs that it names."""

    shipped = True

    @property
    def checkpoint_path(self) -> Path:
        own = super().checkpoint_path
        return own if self.has_own_checkpoint else self._named_checkpoint() or own

    @property
    def has_own_checkpoint(self) -> bool:
        return (self.path / "checkpoint" / "config.json").is_file()

    def _named_checkpoint(self) -> Path | None:
        """A plain name alone: nothing outside the folder of checkpoints is ever reached."""
        config = self.title_and_owner()
        if not isinstance(config, FilmRun) or not NAME.fullmatch(config.checkpoint):
            return None
        checkpoint = self.path.parents[1] / config.checkpoint
        return checkpoint if (checkpoint / "config.json").is_file() else None


def find_shipped(root: Path, name: str) -> ShippedFolder | None:
    """The run of this name in `root`, a folder of such runs; None if there is none."""
    if not NAME.fullmatch(name) or (root / name).is_symlink():
        return None
    folder = ShippedFolder(root / name)
    return folder if folder.exists else None


def shipped_folders(root: Path) -> list[ShippedFolder]:
    """All of them, by name."""
    try:
        names = sorted(path.name for path in root.iterdir())
    except OSError:
        return []
    return [folder for name in names if (folder := find_shipped(root, name))]


def shipped_infos(root: Path) -> list[RunInfo]:
    """What a page shows of them. Read once: what came with the app stays as it is."""
    try:
        return [*_cached_infos(root, root.stat().st_mtime_ns)]
    except OSError:
        return []


@lru_cache(maxsize=4)
def _cached_infos(root: Path, _: int) -> tuple[RunInfo, ...]:
    return tuple(info for folder in shipped_folders(root) if (info := read_run_info(folder)))
