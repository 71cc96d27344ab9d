"""The files of a folder as messages: names, stamps and pieces of bounded size; both ends use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PIECE_BYTES = 4_000_000
"""Bytes of a file in one message, at most."""
MAX_FILES = 5_000
MAX_BYTES = 4_000_000_000
APPEND_ONLY = frozenset({"metrics.jsonl", "examples.jsonl", "log.txt"})
"""Files that grow by lines; every other is replaced whole."""
_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
_NAME = re.compile(rf"(?:{_PART}/)?{_PART}")
Stamp = tuple[int, int, int]
"""Bytes, time of the last change in nanoseconds, and the file's own number: a file that was
replaced has another, one that grew has not."""


class CopyError(OSError):
    """What came over the wire is not what may come: a name, a size or a count."""


def checked_path(folder: Path, name: str) -> Path:
    """The file of this name; at most one folder deep, and never a hidden one. Raises CopyError for
    any other name, or where a link stands in its place."""
    path = folder / name
    if not _NAME.fullmatch(name) or path.is_symlink() or path.parent.is_symlink():
        raise CopyError(f"{name[:60]!r} is no name of a file that may be copied")
    return path


def listing(folder: Path, excluded: frozenset[str] = frozenset()) -> dict[str, Stamp]:
    """Every file that may be copied, by its name; what goes while we look is left out."""
    return dict(_files(folder, excluded))


def _files(folder: Path, excluded: frozenset[str]) -> Iterator[tuple[str, Stamp]]:
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = path.relative_to(folder).as_posix()
        if name not in excluded and _NAME.fullmatch(name) and path.is_file():
            try:
                yield name, stamp(path)
            except FileNotFoundError:
                continue


def stamp(path: Path) -> Stamp:
    """Raises OSError if the file is gone."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def is_unchanged_or_grown(name: str, current: Stamp, before: Stamp) -> bool:
    """Whether what was there before is there still: in a file that grows, at its beginning."""
    grown = name in APPEND_ONLY and current[2] == before[2] and current[0] >= before[0]
    return grown or current == before


def check_listing(files: Mapping[str, Stamp], folder: Path) -> None:
    """Raises CopyError for a listing that may not come: more, or larger, than any run of ours."""
    if len(files) > MAX_FILES or sum(size for size, _, _ in files.values()) > MAX_BYTES:
        limit = f"{MAX_FILES:,} files or {MAX_BYTES / 1e9:g} GB"
        raise CopyError(f"there is more to copy than {limit}")
    for name in files:
        checked_path(folder, name)


def read_piece(path: Path, offset: int) -> bytes:
    """So much of a file as one message holds. Raises OSError."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PIECE_BYTES)


def write_piece(path: Path, offset: int, content: bytes) -> None:
    """Write one piece; the first makes the file anew. Raises OSError; CopyError, which it is, for
    one that does not follow the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if offset else "wb") as file:
        if file.tell() != offset or len(content) > PIECE_BYTES:
            raise CopyError(f"a piece of {path.name} is out of place")
        file.write(content)
