"""Copying a folder to a worker, and its changes back while the worker uses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from transformer.cluster import folders, host
from transformer.cluster.connection import Connection
from transformer.jobs.computation import RESULT
from transformer.text.files import atomic_path


async def send(
    connection: Connection, worker: str, reservation: str, folder: Path, *, under: str = ""
) -> None:
    """Copy every file of the folder to a reservation that has not begun.

    Args:
        under: subfolder of the reservation's folder to copy to; "" for the folder itself.

    Raises LostError, an OSError, if the worker does not answer; OSError for a file that may not be
    copied.
    """
    files = folders.listing(folder, host.LOCAL_FILES)
    folders.check_listing(files, folder)
    for name, (size, _, _) in files.items():
        for offset in range(0, max(1, size), folders.PIECE_BYTES):
            content = folders.read_piece(folder / name, offset)
            remote_name = f"{under}/{name}" if under else name
            await connection.call(
                worker, host.write_file_piece, reservation, remote_name, offset, content
            )


class Mirror:
    """Copies changed files back, each atomically; of append-only files only the new lines."""

    def __init__(
        self,
        connection: Connection,
        worker: str,
        reservation: str,
        target: Path,
        copied: Mapping[str, folders.Stamp] | None = None,
    ) -> None:
        """`copied` has the stamps of the files that were sent to the worker."""
        self._connection, self._worker, self._reservation = connection, worker, reservation
        self._target = target
        self._copied = dict(copied or {})

    async def update(self, remote: Mapping[str, folders.Stamp]) -> bool:
        """Update the local folder from the remote files; return whether it is complete.

        The files that a save depends on are copied before it: the lines of its steps first, the
        save last. A file that changes meanwhile is left for the next update, with all files after
        it. Raises LostError, an OSError, if the worker does not answer; OSError for a file that may
        not be copied or written.
        """
        folders.check_listing(remote, self._target)
        for name in sorted(remote, key=_copy_order):
            if self._copied.get(name) != remote[name]:
                try:
                    await self._copy(name, remote[name])
                except _ChangedError:
                    return False
                self._copied[name] = remote[name]
        for name in self._copied.keys() - remote.keys():
            folders.checked_path(self._target, name).unlink(missing_ok=True)
            del self._copied[name]
        return True

    async def _copy(self, name: str, current: folders.Stamp) -> None:
        path, previous = folders.checked_path(self._target, name), self._copied.get(name)
        if (
            previous
            and name in folders.APPEND_ONLY
            and folders.is_unchanged_or_grown(name, current, previous)
        ):
            await self._append(path, name, current, previous[0])
        else:
            with atomic_path(path) as temporary:
                temporary.touch()
                await self._append(temporary, name, current, 0)

    async def _append(self, path: Path, name: str, current: folders.Stamp, offset: int) -> None:
        """Append the remote file's content from `offset` to its listed size."""
        call = self._connection.call
        with path.open("ab") as file:
            while offset < current[0]:
                content = await call(
                    self._worker, host.read_file_piece, self._reservation, name, current, offset
                )
                if not content:
                    raise _ChangedError
                content = content[: current[0] - offset]
                file.write(content)
                offset += len(content)


class _ChangedError(Exception):
    """The file has changed since it was listed."""


def _copy_order(name: str) -> tuple[int, str]:
    """Sort key: append-only files first; a checkpoint's config after its weights, because a folder
    without it is not a checkpoint; the save that a run resumes from, and results, last."""
    late = ("config.json", "resume.safetensors", RESULT)
    file_name = name.rpartition("/")[2]
    if name in folders.APPEND_ONLY:
        return -1, name
    return late.index(file_name) + 1 if file_name in late else 0, name
