"""Shipped runs: read-only runs that are part of the app and visible to everyone.

    checkpoints/en-fr/                a checkpoint
    checkpoints/runs/toy-reverse/     a run with its own checkpoint: config.json, state.json,
                                      metrics.jsonl, examples.jsonl, snapshots/, checkpoint/
    checkpoints/runs/training-en-fr/  a run whose config.json names "checkpoint": "en-fr"

They are stored with the checkpoints and distributed with them. They are ordinary run folders
without the files that only training needs. `runs` has no config.json, so it is not a checkpoint.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from transformer.jobs.folder import NAME, JobFolder
from transformer.jobs.info import RunInfo, read_run_info
from transformer.training.run_config import FilmRun


class ShippedFolder(JobFolder):
    """A shipped run, with its own checkpoint or the name of a shipped one."""

    shipped = True

    @property
    def checkpoint_path(self) -> Path:
        own_checkpoint = super().checkpoint_path
        named_checkpoint = None if self.has_own_checkpoint else self._named_checkpoint()
        return named_checkpoint or own_checkpoint

    @property
    def has_own_checkpoint(self) -> bool:
        return (super().checkpoint_path / "config.json").is_file()

    def _named_checkpoint(self) -> Path | None:
        """Return the named checkpoint; only plain names, so no path outside the folder is
        opened."""
        config = self.readable_config()
        if not isinstance(config, FilmRun) or not NAME.fullmatch(config.checkpoint):
            return None
        checkpoint = self.path.parents[1] / config.checkpoint
        return checkpoint if (checkpoint / "config.json").is_file() else None


def find_shipped(root: Path, name: str) -> ShippedFolder | None:
    """Return the run of this name in `root`, a folder of shipped runs; None if not found."""
    if not NAME.fullmatch(name) or (root / name).is_symlink():
        return None
    folder = ShippedFolder(root / name)
    return folder if folder.exists else None


def shipped_folders(root: Path) -> list[ShippedFolder]:
    """Return all shipped runs, sorted by name."""
    try:
        names = sorted(path.name for path in root.iterdir())
    except OSError:
        return []
    return [folder for name in names if (folder := find_shipped(root, name))]


@lru_cache(maxsize=4)
def shipped_infos(root: Path) -> tuple[RunInfo, ...]:
    """Return the infos of all shipped runs; cached, since they do not change."""
    return tuple(info for folder in shipped_folders(root) if (info := read_run_info(folder)))
