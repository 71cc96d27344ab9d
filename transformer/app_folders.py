"""Folders of the app and its checkpoints by name: in a checkout, or in the installed package."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
IMPORT_ROOT = PACKAGE.parent
"""The folder that must be on the path of a process that imports this package."""
INSTALLED_APP = PACKAGE / "app"
"""Folder of `app.py` and its files in an installed package (pyproject.toml)."""
APP_FOLDER = INSTALLED_APP if (INSTALLED_APP / "app.py").is_file() else IMPORT_ROOT
"""The folder with `app.py`, `pages/`, `checkpoints/`, `.streamlit/` and `limits.toml`."""
CHECKPOINTS_VARIABLE = "HEADS_UP_CHECKPOINTS"
"""Environment variable for the folder of checkpoints; default: `checkpoints/`."""
SHIPPED_RUNS = "runs"
"""Subfolder of the folder of checkpoints with trained runs, each with its own checkpoint."""


def app_path(variable: str, name: str) -> Path:
    """Return the path in an environment variable, or else a path in the app's folder."""
    path = os.environ.get(variable)
    return Path(path) if path else APP_FOLDER / name


def data_path(variable: str, name: str) -> Path:
    """Like `app_path`, for data that the app writes: an installed app writes to `~/.heads-up`, not
    to its package folder."""
    path = os.environ.get(variable)
    if path:
        return Path(path)
    return (Path.home() / ".heads-up" if APP_FOLDER is INSTALLED_APP else APP_FOLDER) / name


def checkpoints_folder() -> Path:
    """Return the folder of named checkpoints: `HEADS_UP_CHECKPOINTS`, or the app's own."""
    return app_path(CHECKPOINTS_VARIABLE, "checkpoints")


def named_checkpoints() -> dict[str, Path]:
    """Return the folders of the checkpoints that can be loaded by name, in alphabetical order.

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
    """Return the folder for a path or name: the path if it exists, else the checkpoint of this
    name, else the path unchanged, so that opening it reports the error."""
    path = Path(name_or_path)
    return path if path.exists() else named_checkpoints().get(os.fspath(name_or_path), path)
