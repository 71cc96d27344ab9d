"""The files that let the classes of a server survive a restart.

A class is one small JSON file, written after each change of its seats, questions and answers, and
deleted when the class ends. Several servers may share a folder: each locks a subfolder of its own,
and a restarted server takes the first that is free.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from transformer.text.door import (
    Refusal,
    accepts,
    either,
    flag,
    form,
    nothing,
    number,
    pair,
    read_fields,
    record,
    several,
    table,
    text,
    whole,
)
from transformer.text.files import read_json, try_lock, write_json

KEEP_SECONDS = 3 * 3600
"""Age from which a file is deleted instead of read."""
MAX_FILE_BYTES = 4_000_000
MAX_SERVERS = 32
MAX_SEATS = 10_000
MAX_VERSION = 2**31
NO_ANSWER = -1
_VISITOR, _TEXT, _HEX = text(100), text(1000), form(r"[0-9a-f]{0,128}", "hexadecimal digits")
_OPTION = whole(NO_ANSWER, 100)


@dataclass(frozen=True, kw_only=True)
class StoredMember:
    """A student, as in `classroom.Member`."""

    visitor: str = accepts(_VISITOR)
    number: int = accepts(whole(1, MAX_VERSION))
    name: str = accepts(text(100))


@dataclass(frozen=True, kw_only=True)
class StoredAnswers:
    """The answers to a lesson: who has answered, and apart from that the votes for each option."""

    lesson: str = accepts(text(300))
    answered: tuple[str, ...] = accepts(several(_VISITOR, MAX_SEATS))
    counts: Mapping[str, int] = accepts(table(whole(0, MAX_SEATS), 200))
    shown: bool = accepts(flag())
    options: tuple[str, ...] = accepts(several(_TEXT, 20))
    correct: int = accepts(whole(0, 20))


@dataclass(frozen=True, kw_only=True)
class StoredProgress:
    """The file of a class's plan, and where the class is: seconds since 1970 when it began and when
    it came to its station."""

    plan: str = accepts(text())
    station: int = accepts(whole(-1, 1000))
    begun: float = accepts(number(0, 1e12))
    entered: float = accepts(number(0, 1e12))


@dataclass(frozen=True, kw_only=True)
class StoredQuestion:
    """A measured question: sealed with `key` and `rounds`, or shown with `seats` and no rounds."""

    text: str = accepts(_TEXT)
    options: tuple[str, ...] = accepts(several(_TEXT, 20))
    correct: int = accepts(whole(0, 20))
    explanation: str = accepts(_TEXT)
    key: str = accepts(_HEX)
    rounds: tuple[Mapping[str, int], ...] = accepts(several(table(_OPTION, MAX_SEATS), 2))
    is_open: bool = accepts(flag())
    n_rounds: int = accepts(whole(1, 2))
    seats: tuple[tuple[int, ...], ...] = accepts(several(pair(_OPTION, _OPTION), MAX_SEATS))


@dataclass(frozen=True, kw_only=True)
class StoredQuestions:
    """All measured questions of a class."""

    changes: int = accepts(whole(0, MAX_VERSION))
    current: int = accepts(whole(0, 1000))
    questions: tuple[StoredQuestion, ...] = accepts(several(record(StoredQuestion), 1000))


@dataclass(frozen=True, kw_only=True)
class StoredClass:
    """What a class needs to go on after a restart."""

    code: str = accepts(text(20))
    teacher: str = accepts(_VISITOR)
    teacher_name: str = accepts(text(100))
    is_leading: bool = accepts(flag())
    own_engines: bool = accepts(flag())
    n_joined: int = accepts(whole(0, MAX_VERSION))
    members: tuple[StoredMember, ...] = accepts(several(record(StoredMember), MAX_SEATS))
    removed: tuple[str, ...] = accepts(several(_VISITOR, MAX_SEATS))
    not_following: tuple[str, ...] = accepts(several(_VISITOR, MAX_SEATS))
    answers: tuple[StoredAnswers, ...] = accepts(several(record(StoredAnswers), 1000))
    measured: StoredQuestions = accepts(record(StoredQuestions))  # noqa: RUF009 - frozen
    progress: StoredProgress | None = accepts(  # noqa: RUF009 - frozen
        either(record(StoredProgress), nothing())
    )


class ClassFiles:
    """The files of one server's classes. All methods are thread-safe.

    Without a folder that can be written, nothing is stored and classes end with the server.
    """

    def __init__(self, root: Path | None) -> None:
        """`root` is the folder that several servers may share; None stores nothing."""
        self._guard = threading.Lock()
        self._lock_file: BinaryIO | None = None
        self._folder: Path | None = None
        with suppress(OSError):
            if root is not None:
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._take_folder(root)

    def _take_folder(self, root: Path) -> None:
        for server in range(MAX_SERVERS):
            if (lock_file := try_lock(root / f"{server}.lock")) is not None:
                self._lock_file, self._folder = lock_file, root / str(server)
                self._folder.mkdir(mode=0o700, exist_ok=True)
                return

    def load(self) -> Iterator[StoredClass]:
        """Yield the classes of the files; delete files that are too old or cannot be read."""
        for path in sorted(self._folder.glob("*.json")) if self._folder else []:
            stored = None
            with suppress(OSError, ValueError):
                status = path.stat()
                is_recent = time.time() - status.st_mtime < KEEP_SECONDS
                if is_recent and status.st_size <= MAX_FILE_BYTES:
                    stored = read_fields(read_json(path), StoredClass)
            if stored is None or stored.code != path.stem:
                path.unlink(missing_ok=True)
            else:
                yield stored

    def save(self, code: str, current: Callable[[], StoredClass | None]) -> None:
        """Write what `current` returns, or delete the file if that is None: the class has ended.

        Without space on the disk the last file stays, and the class goes on in memory.
        """
        with self._guard, suppress(OSError, Refusal):
            stored = current()
            if self._folder is None:
                return
            path = self._folder / f"{code}.json"
            if stored is None:
                path.unlink(missing_ok=True)
            else:
                write_json(path, asdict(stored))

    def close(self) -> None:
        """Release the folder for the next server; the files stay."""
        with self._guard:
            self._folder = None
            if self._lock_file is not None:
                self._lock_file.close()
                self._lock_file = None
