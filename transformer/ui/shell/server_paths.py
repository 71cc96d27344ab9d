"""Paths of the server as a visitor may see them: from the app's own folders on, and no further."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from transformer.app_folders import APP_FOLDER, IMPORT_ROOT
from transformer.jobs import runs_folder


def remove_server_paths(text: str, *folders: Path) -> str:
    """`text` with every path that lies in a folder of this machine cut: "/srv/heads/runs/a/x.json"
    is "runs/a/x.json" where the runs lie in "/srv/heads/runs".

    Args:
        folders: further ones that keep their own name, as those of the runs do.
    """
    if "/" not in text and "\\" not in text:
        return text
    here = Path(".")
    with suppress(OSError):  # the folder that this process stands in may be gone
        here = Path.cwd()
    pattern, names = _pattern((runs_folder(), *folders), here)

    def cut(found: re.Match[str]) -> str:
        name = names[found["root"]]
        return f"{name}/" if name and found["further"] else name

    return pattern.sub(cut, text)


@lru_cache(maxsize=16)
def _pattern(kept: tuple[Path, ...], here: Path) -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds the roots of this machine's paths, and what stands for each."""
    elsewhere = {Path(tempfile.gettempdir()): "tmp", Path(sys.prefix): "python"}
    elsewhere[Path(sys.base_prefix)] = "python"
    with suppress(RuntimeError):  # there may be no home
        elsewhere[Path.home()] = "~"
    ours = {here: "", APP_FOLDER: "", IMPORT_ROOT: ""} | {folder: folder.name for folder in kept}
    names = _spellings(elsewhere) | _spellings(ours)
    alone = _spellings(ours)  # these also where nothing follows
    roots = "|".join(
        re.escape(root) + ("" if root in alone else r"(?=[\\/])")
        for root in sorted(names, key=len, reverse=True)
    )
    # Not "/srv/heads" within "/srv/heads-up" or "/mnt/srv/heads".
    whole = rf"(?<![\w.~-])(?P<root>{roots})(?P<further>[\\/]+|(?![\w-]|\.\w))"
    return re.compile(whole), names


def _spellings(folders: dict[Path, str]) -> dict[str, str]:
    """Every way in which these absolute folders may be written, with their names."""
    found: dict[str, str] = {}
    for folder, name in folders.items():
        for path in (folder, _resolved(folder)):
            if path.is_absolute() and len(path.parts) > 1:
                plain = str(path)
                ways = {plain, path.as_posix(), plain.replace("\\", "\\\\")}
                found |= dict.fromkeys(ways, name)
    return found


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder
