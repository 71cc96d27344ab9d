"""The thread that has the computations of one lane made, one after the other."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from transformer.jobs import results
from transformer.jobs.computation import Lane
from transformer.jobs.errors import JobError
from transformer.jobs.lane_queue import Asked, Line
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor
from transformer.text.files import write_json

_LOOK = 0.5  # seconds between two looks whether another app has finished the same


class LaneThread:
    """A line and what works it off; it starts when something is asked for.

    Attributes:
        guard: held by whoever reads or changes the others.
        unwritten: why computations failed, where the disk takes no word.
    """

    def __init__(
        self,
        name: str,
        lane: Lane,
        limits: Limits,
        folder: Path,
        executor: LaneExecutor,
        latest: results.Latest,
    ) -> None:
        self.guard = threading.Condition()
        self.line = Line(lane)
        self.unwritten: dict[str, str] = {}
        self._name, self._lane, self._folder, self._executor = name, lane, folder, executor
        self._latest = latest
        self._seconds = lane.seconds or 60 * limits.pass_minutes
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def start(self) -> None:
        """Something is in line; the caller holds the guard."""
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self.guard.notify()

    def close(self) -> None:
        """End what runs and forget what waits."""
        self._closing.set()
        with self.guard:
            thread = self._thread
            for asked in self.line.all():
                asked.cancelled = asked.killed = True
                if asked.kill is not None:
                    asked.kill()
            self.guard.notify()
        if thread is not None:
            thread.join()

    def _next(self) -> str:
        """The key of the next; "" after `idle` seconds without one, or at the end: then
        this thread is over."""
        with self.guard:
            self.line.drop_left()
            if not self.line.all() and not self._closing.is_set():
                self.guard.wait(self._lane.idle)
                self.line.drop_left()
            key = "" if self._closing.is_set() else self.line.take()
            if not key:
                self._thread = None
                self._executor.close()
        return key

    def _work(self) -> None:
        """One after the other, until none has come for a while."""
        while key := self._next():
            folder, asked = self._folder / key, self.line.get(key)
            assert asked
            try:
                reason = self._make(folder, asked)
            except OSError as error:
                reason = f"it could not be made: {error.strerror or error}"
            self.note_result(key, asked)
            with suppress(OSError):  # another app may be at it
                results.forget([*self._folder.glob(f"{self._name}-*")], self._lane.kept, new=folder)
            with self.guard:
                again = asked.killed and not asked.cancelled  # asked for anew while it ended
                self._keep_reason(folder, "" if asked.killed else reason)
                with suppress(OSError):
                    results.clear(folder)
                self.line.remove(key)
                if again:
                    with suppress(JobError):  # who asked first has as many others by now
                        self.line.add(key, Asked(asked.what, asked.first, asked.visitors))

    def note_result(self, key: str, asked: Asked) -> None:
        """That its subject has a result since now, if it has. Guarded, so that nobody forgets it
        for a new one between the look and the note, which would then have the old one's time."""
        with self.guard:
            if (self._folder / key / results.RESULT).is_file():
                self._latest.note(asked.what.subject, key)

    def _keep_reason(self, folder: Path, reason: str) -> None:
        """Why there is no result, in its folder, or kept here while the disk takes no word."""
        key, so_far = folder.name, results.read(folder / results.PROGRESS).get("so_far")
        self.unwritten.pop(key, None)
        if (reason or so_far) and not results.ended(folder):
            try:
                write_json(folder / results.FAILED, {"reason": reason, "so_far": so_far or {}})
            except OSError:
                self.unwritten[key] = reason
        for old in [*self.unwritten][: -self._lane.kept]:
            del self.unwritten[old]

    def _make(self, folder: Path, asked: Asked) -> str:
        """Have it computed and wait for its end; why there is no result, or nothing."""
        while (lock := results.hold(folder)) is None:  # another app computes the same
            if asked.cancelled or self._closing.wait(_LOOK):
                return ""
        with lock:
            if (folder / results.RESULT).is_file():
                return ""
            for old in (results.FAILED, results.PROGRESS):
                (folder / old).unlink(missing_ok=True)
            file = {"file": str(folder / asked.what.file)} if asked.what.file else {}
            write_json(folder / results.ASK, {**asked.what.given, **file})
            with self.guard:
                if asked.cancelled:
                    return ""
                self._executor.begin(folder, asked.what)
                asked.kill = self._executor.kill
            late = threading.Event()
            alarm = threading.Timer(self._seconds, self._too_late, (late,))
            alarm.daemon = True
            alarm.start()
            code = self._executor.wait()
            alarm.cancel()
            return "" if results.ended(folder) else self._reason(code, late.is_set())

    def _too_late(self, late: threading.Event) -> None:
        late.set()
        self._executor.kill()

    def _reason(self, code: int, late: bool) -> str:
        processor = self._lane.processor
        if late or (processor and code not in (results.FAILURE, results.NO_ROOM)):
            most, unit = processor or self._seconds, "second"
            if most < 1 or most >= 60:
                most, unit = most / 60, "minute"
            allowed = f"{most:g} {unit}{'' if most == 1 else 's'}"
            return f"it took more than the {allowed} that this app allows; {self._lane.hint}"
        if code == results.NO_ROOM:
            return results.LACKING
        return f"its process ended ({code}) before it was done; ask again"
