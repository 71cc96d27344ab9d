"""Where the app's own files lie: beside the package in a checkout, within it once installed."""

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
