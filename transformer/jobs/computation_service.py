"""What takes long and is not training: asked for by pages, computed beside the app, and kept.

    computing = Computing(runs_folder(), limits)
    key = computing.ask(of_report(folder, model.hash, "heads", corpus, {}), visitor="…")
    computing.look(key).status   # on every rerun, in any session
    computing.result(key)        # what `analyse --json` writes, once it is "done"

Results outlive the app; what was waiting or half done when it ended is nobody's any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from transformer.jobs.computation import LANES, Computation, Lane, lane_of
from transformer.jobs.errors import JobError, sentence
from transformer.jobs.lane_queue import Asked
from transformer.jobs.lane_thread import LaneThread
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor, LaneProcess
from transformer.jobs.results import FAILED, PROGRESS, RESULT, Last, Latest, Standing, clear, read
from transformer.jobs.shares import Who

FOLDER = ".results"
DEFAULTS = Limits()


class Computing(AbstractContextManager["Computing"]):
    """The computations of one folder, for all sessions of one server; every method is safe in any
    thread.

    The same question of two visitors is one computation, and its result is for everyone.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        limits: Limits = DEFAULTS,
        *,
        lanes: Mapping[str, Lane] = LANES,
        executor: Callable[[Lane, Limits], LaneExecutor] = LaneProcess,
    ) -> None:
        """Clears away what a killed app left half done; starts nothing.

        Args:
            root: the folder of runs; results lie hidden in it.
            limits: how long a pass may take, how much memory, and how it gives way to the app.
            executor: makes what computes, one for each lane.

        Raises JobError if the folder cannot be made or written to.
        """
        self._folder = Path(root).resolve() / FOLDER
        with sentence("the folder of results cannot be used"):
            self._folder.mkdir(parents=True, exist_ok=True)
            for folder in self._folder.iterdir():
                clear(folder)
        self._latest = Latest(Path(root).resolve(), self._folder)
        self._lanes = {
            name: LaneThread(name, lane, limits, self._folder, executor(lane, limits), self._latest)
            for name, lane in lanes.items()
        }

    def ask(self, what: Computation, *, visitor: str, address: str = "", anew: bool = False) -> str:
        """Put it in line, unless there is its result, and return its key.

        Args:
            visitor, address: who asks, and may cancel, and where from.
            anew: forget the result that there is.

        Raises JobError if too many are waiting, of all, of this visitor or of this address.
        """
        key, lane = what.key, self._lanes[what.lane]
        with lane.guard:
            asked, result = lane.line.get(key), self._folder / key / RESULT
            if result.is_file():
                if asked is None and not anew:
                    return key
                if anew:
                    result.unlink(missing_ok=True)
                    self._latest.forget(what.subject)
                    if asked is not None and asked.kill is not None:
                        asked.killed = True  # its thread has yet to see its end, and begins again
            if asked is None:
                asked = Asked(what, Who(visitor, address))
                lane.line.add(key, asked)
            lane.unwritten.pop(key, None)
            asked.visitors.add(visitor)
            asked.cancelled, asked.looked = False, time.monotonic()
            lane.start()
        return key

    def look(self, key: str, visitor: str = "") -> Standing:
        """How it stands, for a page that is drawn again."""
        folder, lane = self._folder / key, self._lanes[lane_of(key)]
        with lane.guard:
            asked = lane.line.get(key)
            place = lane.line.place(key) if asked else 0
            mine = asked is not None and visitor in asked.visitors
            if asked is not None and mine:
                asked.looked = time.monotonic()
            if place:
                lane.line.drop_left()
            unwritten = lane.unwritten.get(key, "")
        if (folder / RESULT).is_file():
            if asked is not None:  # who sees it done sees since when: its thread is yet to wake
                lane.note_result(key, asked)
            return Standing(key, "done", 1.0)
        # Read before `failed.json`, which is written before this is removed.
        reported = read(folder / PROGRESS) if asked is not None else {}
        if asked is not None and not asked.cancelled:
            if place:
                return Standing(key, "waiting", place=place, mine=mine)
            done, stage = reported.get("progress", 0.0), reported.get("stage", "starting")
            so_far = reported.get("so_far", {})
            return Standing(key, "running", float(done), str(stage), mine=mine, so_far=so_far)
        failed = read(folder / FAILED)
        so_far = failed.get("so_far") or reported.get("so_far") or {}  # its process still ends
        if reason := unwritten or str(failed.get("reason", "")):
            return Standing(key, "failed", reason=reason, so_far=so_far)
        return Standing(key, "stopped" if so_far else "absent", so_far=so_far)

    def result(self, key: str) -> dict[str, Any]:
        """What was found. Raises JobError if it is not there (any more)."""
        path = self._folder / key / RESULT
        found = read(path)
        if not found:
            raise JobError("this measurement is not there any more; ask for it again")
        with suppress(OSError):
            os.utime(path)  # it was looked at last
        return found

    def file(self, what: Computation) -> Path:
        """The file beside its result. Raises JobError if it is not there (any more)."""
        path = self._folder / what.key / what.file
        if not what.file or not path.is_file():
            raise JobError("this file is not there any more; ask for it again")
        return path

    def last(self, subject: str) -> Last | None:
        """The last that was found on a subject, by any of its questions; None if nothing is."""
        return self._latest.find(subject)

    def cancel(self, key: str, visitor: str) -> None:
        """Take back one's own question; it ends when nobody waits for it any more."""
        lane = self._lanes[lane_of(key)]
        with lane.guard:
            asked = lane.line.get(key)
            if asked is None or visitor not in asked.visitors:
                return
            asked.visitors.discard(visitor)
            if not asked.visitors:
                lane.line.end(key)

    def close(self) -> None:
        """End what is running; of that nothing stays but what comes in parts."""
        for lane in self._lanes.values():
            lane.close()

    def __exit__(self, *_: object) -> None:
        self.close()
