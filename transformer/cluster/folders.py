"""A folder's files as messages: names, stamps and pieces of bounded size, for both ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PIECE_BYTES = 4_000_000
"""Maximum bytes of a file in one message."""
MAX_FILES = 5_000
MAX_BYTES = 4_000_000_000
APPEND_ONLY = frozenset({"metrics.jsonl", "examples.jsonl", "log.txt"})
"""Files to which lines are appended; all others are replaced."""
_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
_NAME = re.compile(rf"(?:{_PART}/)?{_PART}")
Stamp = tuple[int, int, int]
"""Size in bytes, modification time in nanoseconds and inode number: a replaced file has another
inode, a grown one keeps it."""


class CopyError(OSError):
    """A received name, size or number of files is not allowed."""


def checked_path(folder: Path, name: str) -> Path:
    """Return the path of this name: at most one folder deep and not hidden. Raises CopyError for
    any other name, or for a symbolic link."""
    path = folder / name
    if not _NAME.fullmatch(name) or path.is_symlink() or path.parent.is_symlink():
        raise CopyError(f"{name[:60]!r} is not the name of a file that may be copied")
    return path


def listing(folder: Path, excluded: frozenset[str] = frozenset()) -> dict[str, Stamp]:
    """Return the stamp of every file that may be copied, by name; files that vanish are skipped."""
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
    """Return the file's stamp. Raises OSError if the file is missing."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def is_unchanged_or_grown(name: str, current: Stamp, before: Stamp) -> bool:
    """Whether the file is unchanged or, if append-only, has only grown."""
    grown = name in APPEND_ONLY and current[2] == before[2] and current[0] >= before[0]
    return grown or current == before


def check_listing(files: Mapping[str, Stamp], folder: Path) -> None:
    """Raise CopyError for a listing with too many files, too many bytes or an invalid name."""
    if len(files) > MAX_FILES or sum(size for size, _, _ in files.values()) > MAX_BYTES:
        limit = f"{MAX_FILES:,} files or {MAX_BYTES / 1e9:g} GB"
        raise CopyError(f"the folder has more than {limit}, the limit for copying")
    for name in files:
        checked_path(folder, name)


def read_piece(path: Path, offset: int) -> bytes:
    """Read the part of a file that fits in one message. Raises OSError."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PIECE_BYTES)


def write_piece(path: Path, offset: int, content: bytes) -> None:
    """Write one piece; the piece at offset 0 replaces the file. Raises OSError; CopyError, which is
    one, for a piece that does not follow the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if offset else "wb") as file:
        if file.tell() != offset or len(content) > PIECE_BYTES:
            raise CopyError(f"a piece of {path.name} does not follow the one before it")
        file.write(content)
