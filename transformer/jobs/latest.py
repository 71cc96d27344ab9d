"""The last result there was on a subject, whatever was asked about it: its key, and since when."""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.jobs.results import RESULT, read
from transformer.text.files import write_json

FOLDER = ".last"
_KEY = re.compile(r"[a-z]+-[0-9a-f]+")


@dataclass(frozen=True)
class Last:
    """One of the results that are kept.

    Attributes:
        key: of the computation; of another question or an older code than today's it is another.
        when: it was done, in seconds since 1970.
        result: what was found.
    """

    key: str
    when: float
    result: dict[str, Any]


class Latest:
    """A small file for each subject, in a hidden folder of the folder of runs."""

    def __init__(self, root: Path, results: Path) -> None:
        """Forgets those of which the result is gone.

        Args:
            root: the folder of runs; results: that of the results.
        """
        self._folder, self._results = root / FOLDER, results
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                if not (results / str(read(path).get("key", "")) / RESULT).is_file():
                    path.unlink(missing_ok=True)

    def note(self, subject: str, key: str) -> None:
        """There is a result, just now; nothing where that is known already or there is no subject,
        and where the disk takes no word."""
        if subject and read(self._path(subject)).get("key") != key:
            with suppress(OSError):
                write_json(self._path(subject), {"key": key, "when": time.time()})

    def forget(self, subject: str) -> None:
        """The last result on it is to be another."""
        with suppress(OSError):
            self._path(subject).unlink(missing_ok=True)

    def find(self, subject: str) -> Last | None:
        """The last result on it, unless it has been forgotten since."""
        noted = read(self._path(subject))
        key, when = noted.get("key"), noted.get("when")
        if not isinstance(key, str) or not _KEY.fullmatch(key) or not isinstance(when, int | float):
            return None
        found = read(self._results / key / RESULT)
        return Last(key, float(when), found) if found else None

    def _path(self, subject: str) -> Path:
        return self._folder / f"{hashlib.sha256(subject.encode()).hexdigest()[:24]}.json"
