"""A folder's files as one message: all of them, or those that have changed since the last one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.jobs.computation import RESULT
from transformer.text.files import Stamp, atomic_path

APPEND_ONLY = frozenset({"metrics.jsonl", "examples.jsonl", "log.txt"})
"""Files to which lines are appended; of these only the new bytes are sent."""
LOCAL_FILES = frozenset({"lock", "job.lock", "job.json", "control.json", "state.json"})
"""Files of a job that stay where they are."""
_WRITTEN_LAST = ("config.json", "resume.safetensors", RESULT)


Changes = dict[str, tuple[int, bytes] | None]
"""By file name: the offset of new content, and the content; None for a deleted file."""


def read_stamps(folder: Path) -> dict[str, Stamp]:
    """Return the stamps of the files to send, at most one folder deep, without hidden ones."""
    stamps = {}
    for path in sorted([*folder.glob("[!.]*"), *folder.glob("[!.]*/[!.]*")]):
        if path.name not in LOCAL_FILES and path.is_file():
            stamps[path.relative_to(folder).as_posix()] = Stamp.of(path.stat())
    return stamps


def read_changes(folder: Path, sent: Mapping[str, Stamp]) -> tuple[Changes, dict[str, Stamp]]:
    """Return what has changed since `sent`, and the new stamps; all files if `sent` is empty.

    A save is read before the files that were written before it, so that its steps have their lines
    even if the trainer goes on meanwhile. Raises OSError.
    """
    changes: Changes = {}
    stamps: dict[str, Stamp] = {}
    for name in sorted(read_stamps(folder), key=lambda name: -_write_order(name)):
        before = sent.get(name)
        try:
            with (folder / name).open("rb") as file:
                stamp = stamps[name] = Stamp.of(os.fstat(file.fileno()))
                if stamp == before:
                    continue
                grown = before and before.inode == stamp.inode and before.size <= stamp.size
                offset = before.size if before and grown and name in APPEND_ONLY else 0
                file.seek(offset)
                changes[name] = offset, file.read(stamp.size - offset)
        except FileNotFoundError:  # deleted meanwhile
            continue
    changes.update(dict.fromkeys(sent.keys() - stamps.keys()))
    return changes, stamps


def write_changes(folder: Path, changes: Changes) -> None:
    """Write what `read_changes` has read, each file atomically: a checkpoint's config after its
    weights, since a folder without it is not a checkpoint, and the save that a run resumes from, or
    the result, last. Raises OSError."""
    for name in sorted(changes, key=_write_order):
        change, path = changes[name], folder / name
        if change is None:
            path.unlink(missing_ok=True)
        elif change[0]:
            with path.open("ab") as file:
                file.write(change[1])
        else:
            with atomic_path(path) as temporary:
                temporary.write_bytes(change[1])


def checkpoint_folders(arguments: Mapping[str, Any]) -> list[str]:
    """Return the folders of checkpoints among a computation's arguments: "checkpoint", and the
    first of each pair (folder, hash) of "models"."""
    single = [arguments["checkpoint"]] if "checkpoint" in arguments else []
    return [*single, *(folder for folder, _ in arguments.get("models", ()))]


def _write_order(name: str) -> int:
    file = name.rpartition("/")[2]
    return _WRITTEN_LAST.index(file) + 1 if file in _WRITTEN_LAST else 0
