"""Atomic writing of files and folders, and reading of JSON."""

import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder and rename it to `path` when the block succeeds.

    On any error, including a keyboard interrupt, the temporary file is removed and an existing
    `path` stays unchanged. A missing folder is created.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    # A unique name: two processes or threads may write the same file.
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, values: Mapping[str, Any], indent: int | None = None) -> None:
    """Write one object atomically. Raises OSError, or ValueError for values JSON cannot
    represent."""
    with atomic_path(path) as temporary:
        text = json.dumps(values, allow_nan=False, indent=indent)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object. Raises OSError, or ValueError if the file contains anything else."""
    try:
        values = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(values, dict):
        raise ValueError(f"it must contain a JSON object, not {type(values).__name__}")
    return values


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder and rename it to `path` when the block succeeds. On any error nothing
    remains. Raises FileExistsError if `path` exists."""
    final = Path(path)
    if final.exists() or final.is_symlink():
        raise FileExistsError(f"{final} already exists; give another name, or remove it")
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as parent:
        folder = Path(parent) / "made"
        folder.mkdir()
        yield folder
        os.rename(folder, final)
