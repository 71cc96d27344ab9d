"""Writing a file so that nobody ever sees half of it."""

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
    """Give a temporary name beside `path`, and rename it to `path` once the block ends well.

    On any error, a keyboard interrupt included, the temporary file is removed and whatever stood
    at `path` before stays as it was. The folder is made if it is missing.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own, for two processes or threads may be writing the same file.
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, values: Mapping[str, Any], indent: int | None = None) -> None:
    """One object, whole or not at all. Raises OSError, and ValueError for what JSON cannot hold."""
    with atomic_path(path) as temporary:
        text = json.dumps(values, allow_nan=False, indent=indent)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Raises OSError, and ValueError for anything but one object."""
    try:
        values = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(values, dict):
        raise ValueError(f"it must hold a JSON object, not {type(values).__name__}")
    return values


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty folder beside `path`, and rename it to `path` once the block ends well. On any
    error nothing of it stays. Raises FileExistsError if there is something at `path`."""
    final = Path(path)
    if final.exists() or final.is_symlink():
        raise FileExistsError(f"{final} is there already; give another name, or remove it")
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as parent:
        folder = Path(parent) / "made"
        folder.mkdir()
        yield folder
        os.rename(folder, final)
