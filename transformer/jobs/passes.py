"""Passes over a corpus that a page asks for: one at a time, in a process beside the app, kept.

    passes = Passes(runs_folder())
    key = passes.ask(folder, model.hash, "heads", corpus, visitor="…")
    passes.look(key).status   # on every rerun, in any session
    passes.result(key)        # what `analyse --json` writes, once it is "done"

Results outlive the app; what was waiting or half done when it ended is nobody's any more.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from transformer.analysis.corpora import Corpus
from transformer.jobs.errors import JobError
from transformer.jobs.limits import Limits, cores
from transformer.jobs.pass_files import (
    ASK,
    FAILED,
    LACKING,
    LOCK,
    NO_ROOM,
    PROGRESS,
    RESULT,
    Pass,
    clear,
    ended,
    forget,
    read,
    write,
)
from transformer.jobs.pass_line import Asked, Line
from transformer.jobs.processes import start
from transformer.jobs.shares import Who
from transformer.jobs.sources import fingerprint
from transformer.training.locks import attempt

FOLDER = ".passes"
KEPT = 80
"""Results that are kept, those looked at last; a thousand sentences are about 500 kB."""
_LOOK = 0.5  # seconds between two looks whether another app has finished the same pass
DEFAULTS = Limits()
MEASURE = "transformer.jobs.corpus_pass:measure"


class Passes:
    """The passes of one folder, for all sessions of one server; every method is safe in any thread.

    The same question of two visitors is one pass, and its result is for everyone.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits = DEFAULTS,
        *,
        nice: int = 10,
        measure: str = MEASURE,
    ) -> None:
        """Clears away what a killed app left half done; starts nothing.

        Args:
            root: the folder of runs; results lie hidden in it.
            limits: how long a pass may take, and how much memory.
            measure: "module:function" that makes the result, in the other process.

        Raises:
            JobError: if the folder cannot be made or written to.
        """
        self._folder = Path(root).resolve() / FOLDER
        self._limits, self._nice, self._measure = limits, nice, measure
        self._guard = threading.Lock()
        self._line = Line()
        self._thread: threading.Thread | None = None
        self._unwritten: dict[str, str] = {}  # why passes failed, where the disk takes no word
        self._closing = threading.Event()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for folder in self._folder.iterdir():
                clear(folder)
        except OSError as error:
            raise JobError(
                f"the folder of results cannot be used: {error.strerror or error}"
            ) from error

    @staticmethod
    def key(
        digest: str, what: str, corpus: Corpus, options: Mapping[str, Any] | None = None
    ) -> str:
        """What a pass is known by: the code that measures, the checkpoint's hash, the corpus's, and
        what is measured."""
        given = sorted((options or {}).items())
        content = json.dumps([fingerprint(), digest, corpus.hash, what, given])
        return hashlib.sha256(content.encode()).hexdigest()[:24]

    def ask(
        self,
        checkpoint: str | os.PathLike[str],
        digest: str,
        what: str,
        corpus: Corpus,
        options: Mapping[str, Any] | None = None,
        *,
        visitor: str,
        address: str = "",
    ) -> str:
        """Put a pass in line, unless there is its result, and return its key.

        Args:
            checkpoint: its folder; `digest`, its `checkpoint_hash`.
            what, options: as `analysis.reports.report` takes them.
            visitor, address: who asks, and may cancel, and where from.

        Raises:
            JobError: if too many are waiting, of all, of this visitor or of this address.
        """
        key = self.key(digest, what, corpus, options)
        with self._guard:
            if (self._folder / key / RESULT).is_file():
                return key
            asked = self._line.get(key)
            if asked is None:
                ask: dict[str, Any] = {
                    "checkpoint": str(Path(checkpoint).resolve()),
                    "hash": digest,
                    "what": what,
                }
                ask = {**ask, "options": dict(options or {}), "corpus": corpus.to_dict()}
                asked = Asked(ask, Who(visitor, address))
                self._line.add(key, asked)
            self._unwritten.pop(key, None)
            asked.visitors.add(visitor)
            asked.cancelled, asked.looked = False, time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="passes", daemon=True)
                self._thread.start()
        return key

    def look(self, key: str, visitor: str = "") -> Pass:
        """How the pass stands, for a page that is drawn again."""
        folder = self._folder / key
        with self._guard:
            asked = self._line.get(key)
            place = self._line.place(key) if asked else 0
            mine = asked is not None and visitor in asked.visitors
            if asked is not None and mine:
                asked.looked = time.monotonic()
            if place:
                self._line.drop_left()
            unwritten = self._unwritten.get(key, "")
        if (folder / RESULT).is_file():
            return Pass(key, "done", 1.0)
        if asked is not None and not asked.cancelled:
            if place:
                return Pass(key, "waiting", place=place, mine=mine)
            told = read(folder / PROGRESS)
            doing = str(told.get("doing", "starting"))
            return Pass(key, "running", float(told.get("share", 0.0)), doing, mine=mine)
        failed = unwritten or read(folder / FAILED).get("reason")
        if failed:
            return Pass(key, "failed", reason=str(failed))
        return Pass(key, "absent")

    def result(self, key: str) -> dict[str, Any]:
        """What was measured. Raises JobError if it is not there (any more)."""
        path = self._folder / key / RESULT
        found = read(path)
        if not found:
            raise JobError("this measurement is not there any more; ask for it again")
        with suppress(OSError):
            os.utime(path)  # it was looked at last
        return found

    def cancel(self, key: str, visitor: str) -> None:
        """Take back one's own question; the pass ends when nobody waits for it any more."""
        with self._guard:
            asked = self._line.get(key)
            if asked is None or visitor not in asked.visitors:
                return
            asked.visitors.discard(visitor)
            if not asked.visitors:
                self._line.end(key)

    def close(self) -> None:
        """End what is running; nothing of it stays."""
        self._closing.set()
        with self._guard:
            thread = self._thread
            for asked in self._line.all():
                asked.cancelled = asked.killed = True
                if asked.process is not None:
                    asked.process.kill()
        if thread is not None:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        """One pass after the other, until none is left."""
        while True:
            with self._guard:
                key = self._line.first()
                asked = self._line.get(key)
                if asked is None or self._closing.is_set():
                    self._thread = None
                    return
            folder = self._folder / key
            try:
                reason = self._make(folder, asked)
            except OSError as error:
                reason = f"it could not be made: {error.strerror or error}"
            with suppress(OSError):  # another app may be at it
                forget(self._folder, KEPT, new=folder)
            with self._guard:
                again = asked.killed and not asked.cancelled  # asked for anew while it ended
                self._say(key, "" if asked.killed else reason)
                with suppress(OSError):
                    clear(folder)
                self._line.remove(key)
                if again:
                    self._line.add(key, Asked(asked.ask, asked.first, asked.visitors))

    def _say(self, key: str, reason: str) -> None:
        """Why there is no result, in its folder, or kept here while the disk takes no word."""
        self._unwritten.pop(key, None)
        if reason:
            try:
                write(self._folder / key / FAILED, {"reason": reason})
            except OSError:
                self._unwritten[key] = reason
        for old in [*self._unwritten][:-KEPT]:
            del self._unwritten[old]

    def _make(self, folder: Path, asked: Asked) -> str:
        """Start the process and wait for its end; why there is no result, or nothing."""
        folder.mkdir(parents=True, exist_ok=True)
        while (lock := attempt(folder / LOCK)) is None:  # another app makes the same pass
            if asked.cancelled or self._closing.wait(_LOOK):
                return ""
        with lock:
            if (folder / RESULT).is_file():
                return ""
            (folder / FAILED).unlink(missing_ok=True)
            write(folder / ASK, asked.ask)
            with self._guard:
                if asked.cancelled:
                    return ""
                given = [str(folder), self._measure, str(self._nice), str(self._limits.memory)]
                threads = max(1, cores() // 2)
                asked.process = start("transformer.jobs.corpus_pass", given, threads)
            late = threading.Event()
            alarm = threading.Timer(60 * self._limits.pass_minutes, _too_late, (asked, late))
            alarm.daemon = True
            alarm.start()
            assert asked.process.stdout
            asked.process.stdout.read()  # until it ends
            code = asked.process.wait()
            alarm.cancel()
            asked.process.stdout.close()
            if asked.process.stdin:
                asked.process.stdin.close()
            if ended(folder):
                return ""
            if late.is_set():
                return (
                    f"it took more than the {self._limits.pass_minutes:g} minutes that this app "
                    "allows; take fewer sentences"
                )
            if code == NO_ROOM:
                return LACKING
            return f"its process ended ({code}) before it was done; ask again"


def _too_late(asked: Asked, late: threading.Event) -> None:
    late.set()
    if asked.process is not None:
        asked.process.kill()
