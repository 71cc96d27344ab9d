"""Folders of the app and its checkpoints by name: in a checkout, or in the installed package."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
IMPORT_ROOT = PACKAGE.parent
"""What a process has on its path that imports this package."""
INSTALLED_APP = PACKAGE / "app"
"""There a wheel has `app.py` and what stands beside it in a checkout (pyproject.toml)."""
APP_FOLDER = INSTALLED_APP if (INSTALLED_APP / "app.py").is_file() else IMPORT_ROOT
"""The folder with `app.py`, `pages/`, `checkpoints/`, `.streamlit/` and `limits.toml`."""
CHECKPOINTS_VARIABLE = "HEADS_UP_CHECKPOINTS"
"""Environment variable: another folder of checkpoints instead of `checkpoints/`."""
SHIPPED_RUNS = "runs"
"""Folder in the folder of checkpoints: trained runs, each with its own checkpoint."""


def app_path(variable: str, name: str) -> Path:
    """The path that an environment variable names, or else what comes with the app."""
    path = os.environ.get(variable)
    return Path(path) if path else APP_FOLDER / name


def data_path(variable: str, name: str) -> Path:
    """As `named_or`, of what the app writes: an installed app may not, or should not, write where
    it lies; what it keeps is then below `.heads-up` in the user's home."""
    path = os.environ.get(variable)
    if path:
        return Path(path)
    return (Path.home() / ".heads-up" if APP_FOLDER is INSTALLED_APP else APP_FOLDER) / name


def checkpoints_folder() -> Path:
    """The folder of the named checkpoints: `HEADS_UP_CHECKPOINTS`, or the one that comes along."""
    return app_path(CHECKPOINTS_VARIABLE, "checkpoints")


def named_checkpoints() -> dict[str, Path]:
    """Folders of the checkpoints that can be loaded by name, in alphabetical order.

    These are the checkpoints of `checkpoints_folder()`, such as "en-fr", and then those of the
    trained runs in it, such as "toy-reverse". Whether they can be opened is not checked.
    """
    root = checkpoints_folder()
    trained = {path.parent.name: path for path in sorted(root.glob(f"{SHIPPED_RUNS}/*/checkpoint"))}
    return {
        name: path
        for name, path in [
            *((path.name, path) for path in sorted(root.glob("*"))),
            *trained.items(),
        ]
        if (path / "config.json").is_file()
    }


def find_checkpoint(name_or_path: str | os.PathLike[str]) -> Path:
    """The folder that a path or a name means: whatever exists at the path, else the checkpoint of
    this name, else the path as it is, for whatever opens it to report."""
    path = Path(name_or_path)
    return path if path.exists() else named_checkpoints().get(os.fspath(name_or_path), path)
