"""Removes the server's folder names from texts that visitors see."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from transformer.app_folders import APP_FOLDER, IMPORT_ROOT
from transformer.jobs import runs_folder

_RANDOM_FOLDER = r"tmp[a-z0-9_]{8}"
"""Name of a folder that `tempfile` has made."""


def remove_server_paths(text: str, *folders: Path) -> str:
    """Shorten every path in `text` that is in a known folder of this machine.

    Example: "/srv/heads/runs/a/x.json" becomes "runs/a/x.json" if "/srv/heads/runs" is the folder
    of runs. A path in the folder of temporary files begins after it and after a random folder.

    Args:
        folders: further folders that keep their own name, like the folder of runs.
    """
    if "/" not in text and "\\" not in text:
        return text
    working_folder = Path(".")
    with suppress(OSError):  # the working folder may have been deleted
        working_folder = Path.cwd()
    pattern, names = _pattern((runs_folder(), *folders), working_folder)

    def shortened(match: re.Match[str]) -> str:
        name = names[match["root"]]
        return f"{name}/" if name and match["further"] else name

    return pattern.sub(shortened, text)


@lru_cache(maxsize=16)
def _pattern(
    named_folders: tuple[Path, ...], working_folder: Path
) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern that matches the known folders, and the replacement of each."""
    other_folders = {Path(tempfile.gettempdir()): "", Path(sys.prefix): "python"}
    other_folders[Path(sys.base_prefix)] = "python"
    with suppress(RuntimeError):  # there may be no home folder
        other_folders[Path.home()] = "~"
    own_folders = {working_folder: "", APP_FOLDER: "", IMPORT_ROOT: ""} | {
        folder: folder.name for folder in named_folders
    }
    names = _replacements(other_folders) | _replacements(own_folders)
    own_spellings = _replacements(own_folders)  # replaced even if no path follows
    roots = "|".join(
        re.escape(root) + ("" if root in own_spellings else r"(?=[\\/])")
        for root in sorted(names, key=len, reverse=True)
    )
    # Not "/srv/heads" within "/srv/heads-up" or "/mnt/srv/heads".
    expression = (
        rf"(?<![\w.~-])(?P<root>{roots})(?P<further>[\\/]+({_RANDOM_FOLDER}[\\/]+)?|(?![\w-]|\.\w))"
    )
    return re.compile(expression), names


def _replacements(folders: dict[Path, str]) -> dict[str, str]:
    """Return all spellings of these absolute folders, with their replacements."""
    names: dict[str, str] = {}
    for folder, name in folders.items():
        for path in (folder, _resolved(folder)):
            if path.is_absolute() and len(path.parts) > 1:
                plain = str(path)
                spellings = {plain, path.as_posix(), plain.replace("\\", "\\\\")}
                names |= dict.fromkeys(spellings, name)
    return names


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder
