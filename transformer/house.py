"""Folders of the app and its checkpoints by name: in a checkout, or in the installed package."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CODE = PACKAGE.parent
"""What a process has on its path that imports this package."""
INSTALLED = PACKAGE / "app"
"""There a wheel has `app.py` and what stands beside it in a checkout (pyproject.toml)."""
HOUSE = INSTALLED if (INSTALLED / "app.py").is_file() else CODE
"""The folder with `app.py`, `pages/`, `checkpoints/`, `.streamlit/` and `limits.toml`."""
CHECKPOINTS_VARIABLE = "HEADS_UP_CHECKPOINTS"
"""Environment variable: another folder of checkpoints instead of `checkpoints/`."""
SHIPPED_RUNS = "runs"
"""Folder in the folder of checkpoints: trained runs, each with its own checkpoint."""


def named_or(variable: str, name: str) -> Path:
    """The path that an environment variable names, or else what comes with the app."""
    named = os.environ.get(variable)
    return Path(named) if named else HOUSE / name


def kept_or(variable: str, name: str) -> Path:
    """As `named_or`, of what the app writes: an installed app may not, or should not, write where
    it lies; what it keeps is then below `.heads-up` in the user's home."""
    named = os.environ.get(variable)
    if named:
        return Path(named)
    return (Path.home() / ".heads-up" if HOUSE is INSTALLED else HOUSE) / name


def checkpoints_folder() -> Path:
    """The folder of the named checkpoints: `HEADS_UP_CHECKPOINTS`, or the one that comes along."""
    return named_or(CHECKPOINTS_VARIABLE, "checkpoints")


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
