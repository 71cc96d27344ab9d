"""Where a class is in its teacher's plan, and since when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from transformer.classroom.measured import MeasuredQuestions
from transformer.classroom.plan import Plan, Station, read_plan, write_plan
from transformer.classroom.stored import StoredProgress

NOT_BEGUN = -1


class PlanProgress:
    """The plan of one class. All methods are thread-safe.

    Attributes:
        plan: None for none.
        station: index of the station where the class is; `NOT_BEGUN` before the first.
    """

    def __init__(
        self,
        lock: threading.RLock,
        measured: MeasuredQuestions,
        changed: Callable[[], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            lock: the lock of the class.
            measured: the questions of the class, to which those of the plan are added.
            changed: called after every change, without the lock.
            now: seconds since 1970, which survive a restart of the server.
        """
        self._lock, self._measured, self._changed, self._now = lock, measured, changed, now
        self.clear()

    def clear(self) -> None:
        self.plan: Plan | None = None
        self.station = NOT_BEGUN
        self._begun = self._entered = 0.0

    @property
    def current(self) -> Station | None:
        """The station where the class is; None before the first."""
        with self._lock:
            stations = self.plan.stations if self.plan else ()
            return stations[self.station] if 0 <= self.station < len(stations) else None

    def elapsed(self) -> tuple[int, int]:
        """Return the seconds since this station and since the first one were entered."""
        with self._lock:
            now = self._now()
            return max(0, round(now - self._entered)), max(0, round(now - self._begun))

    def set(self, plan: Plan | None, *, begin_again: bool = False) -> None:
        """Replace the plan. The class stays at its station unless it is another plan."""
        with self._lock:
            last = len(plan.stations) - 1 if plan else NOT_BEGUN
            self.station = NOT_BEGUN if begin_again else min(self.station, last)
            self.plan = plan
        self._changed()

    def go_to(self, number: int) -> None:
        """Go to a station; its question is asked, and that of the station before is closed.

        A question that an earlier station asks, too, is asked again: before and after. Does nothing
        if there is no such station, or the class is there.

        Raises:
            ClassroomError: if the class has too many questions.
        """
        with self._lock:
            stations = self.plan.stations if self.plan else ()
            if not 0 <= number < len(stations) or number == self.station:
                return
            now = self._now()
            self._begun = now if self.station == NOT_BEGUN else self._begun
            self.station, self._entered = number, now
        # Without the lock, as each of these saves the class.
        self._leave_question()
        if stations[number].question is not None:
            self._ask(number, stations)
        self._changed()

    def _leave_question(self) -> None:
        status = self._measured.current
        if status is None:
            return
        if status.is_shown:
            self._measured.hide()
        else:
            self._measured.close(status.number)

    def _ask(self, number: int, stations: tuple[Station, ...]) -> None:
        question = stations[number].question
        assert question is not None, "the caller checks it"
        asked = [status for status in self._measured.all() if status.question == question]
        if not asked:
            self._measured.ask(question)
        elif any(station.question == question for station in stations[:number]):
            self._measured.ask_again(asked[-1].number)
        else:
            self._measured.reopen(asked[-1].number)

    def stored(self) -> StoredProgress | None:
        """Return what the plan needs after a restart."""
        with self._lock:
            if self.plan is None:
                return None
            return StoredProgress(
                plan=write_plan(self.plan, indent=None).decode(),
                station=self.station,
                begun=self._begun,
                entered=self._entered,
            )

    def restore(self, stored: StoredProgress | None) -> None:
        """Continue with a stored plan. Raises ValueError if it cannot be read."""
        if stored is None:
            return
        with self._lock:
            self.plan = read_plan(stored.plan.encode())
            self.station = min(stored.station, len(self.plan.stations) - 1)
            self._begun, self._entered = stored.begun, stored.entered
