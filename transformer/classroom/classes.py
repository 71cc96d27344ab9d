"""All classes of one server: opened with the teacher's token, joined by their code."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from transformer.classroom.classroom import Classroom
from transformer.classroom.codes import ClassroomError, is_token, new_code, read_code, read_name

BLOCK_MINUTES = 10
MAX_TRACKED = 4096
"""Visitors and addresses that are remembered at most; the longest ago are forgotten first."""
IDLE_SECONDS = 3 * 3600
"""Seconds after which a class ends whose teacher was not seen."""


class Attempts:
    """Wrong guesses of the last minutes. Not locked: `Classes` is.

    A visitor is a cookie that can be dropped, so an address has a limit too; a class may share one.
    """

    def __init__(self, visitor: int, address: int, clock: Callable[[], float]) -> None:
        """
        Args:
            visitor: wrong guesses that one visitor has; address: those of one address.
            clock: seconds, from anywhere on.
        """
        self._limits, self._clock = (visitor, address), clock
        self._wrong_times: OrderedDict[tuple[int, str], deque[float]] = OrderedDict()

    def is_blocked(self, visitor: str, address: str) -> bool:
        """Whether there were too many already; then a right guess must not be heard either."""
        return any(
            len(self._recent(key)) >= limit
            for key, limit in zip(enumerate((visitor, address)), self._limits, strict=True)
        )

    def record_wrong(self, visitor: str, address: str) -> None:
        for key in enumerate((visitor, address)):
            recent = self._recent(key)
            recent.append(self._clock())
            self._wrong_times[key] = recent
            self._wrong_times.move_to_end(key)
        while len(self._wrong_times) > MAX_TRACKED:
            self._wrong_times.popitem(last=False)

    def _recent(self, key: tuple[int, str]) -> deque[float]:
        times = self._wrong_times.get(key, deque())
        while times and times[0] <= self._clock() - 60 * BLOCK_MINUTES:
            times.popleft()
        return times


class Classes:
    """The classes that there are, in memory alone. Every method may be called from any thread.

    A visitor is an id, an address a word that tells where a browser speaks from ("" if that is not
    known); both are whatever the caller knows them by.
    """

    def __init__(
        self,
        token: str,
        max_classes: int = 20,
        max_members: int = 60,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            token: what opens a class.
            most: classes at a time; members: students of one of them.
        """
        self._token, self._clock = token, clock
        self._max_classes, self._max_members = max_classes, max_members
        self._lock = threading.RLock()
        self._by_code: dict[str, Classroom] = {}
        self._by_visitor: dict[str, Classroom] = {}  # students and teachers
        self._teacher_last_seen: dict[str, float] = {}  # by code
        self._tokens = Attempts(5, 30, clock)
        self._codes = Attempts(20, 100, clock)

    def __len__(self) -> int:
        return len(self._by_code)

    def open(self, token: str, visitor: str, address: str = "", name: str = "") -> Classroom:
        """A new class of this visitor's.

        Raises:
            ClassroomError: for a wrong token, after too many of them, if there are enough classes,
                and to whoever is in a class already.
        """
        name = read_name(name)
        self._end_idle()
        with self._lock:
            self._check_guess(self._tokens, visitor, address, is_token(token, self._token), (
                "This is not the teacher's token. It stands in limits.toml, or on the console "
                "where the app was started."
            ))  # fmt: skip
            self._require_no_class(visitor)
            if len(self._by_code) >= self._max_classes:
                raise ClassroomError(
                    f"There are {self._max_classes} classes, as many as this app allows; close "
                    "one, or raise classes in limits.toml."
                )
            code = new_code()
            while code in self._by_code:
                code = new_code()
            classroom = Classroom(code, visitor, name, self._max_members)
            self._by_code[code] = self._by_visitor[visitor] = classroom
            self._teacher_last_seen[code] = self._clock()
        return classroom

    def join(self, code: str, visitor: str, address: str = "", name: str = "") -> Classroom:
        """The class of this code, with this visitor as a student of it; again to change the name.

        Raises:
            ClassroomError: for what is no code or no name, a wrong code, after too many of them, if
                all places are taken, and to whoever is in another class.
        """
        name, code = read_name(name), read_code(code)
        self._end_idle()
        with self._lock:
            classroom = self._by_code.get(code)
            self._check_guess(self._codes, visitor, address, classroom is not None, (
                "There is no class with this code; look again, or ask your teacher whether it is "
                "still open."
            ))  # fmt: skip
            assert classroom is not None
            if self._by_visitor.get(visitor) is not classroom or classroom.is_teacher(visitor):
                self._require_no_class(visitor)
            classroom.join(visitor, name)
            self._by_visitor[visitor] = classroom
        return classroom

    def class_of(self, visitor: str) -> Classroom | None:
        """The class that this visitor leads or is in, if any."""
        self._end_idle()
        with self._lock:
            classroom = self._by_visitor.get(visitor) if visitor else None
            if classroom is not None and classroom.is_teacher(visitor):
                self._teacher_last_seen[classroom.code] = self._clock()
            return classroom

    def leave(self, visitor: str) -> None:
        """This student is in no class any more; a teacher stays, and closes it instead."""
        with self._lock:
            classroom = self._by_visitor.get(visitor)
            if classroom is not None and not classroom.is_teacher(visitor):
                del self._by_visitor[visitor]
                classroom.leave(visitor)

    def end(self, visitor: str) -> None:
        """End the class of this teacher: names, answers and places are gone. Others do nothing."""
        with self._lock:
            classroom = self._by_visitor.get(visitor)
        if classroom is not None and classroom.is_teacher(visitor):
            self._end([classroom])

    def close(self) -> None:
        """End all of them; the server ends."""
        with self._lock:
            classes = [*self._by_code.values()]
        self._end(classes)

    def _end_idle(self) -> None:
        with self._lock:
            oldest_active = self._clock() - IDLE_SECONDS
            idle = [
                self._by_code[code]
                for code, last_seen in self._teacher_last_seen.items()
                if last_seen < oldest_active
            ]
        self._end(idle)

    def _end(self, classes: list[Classroom]) -> None:
        for classroom in classes:
            with self._lock:
                self._by_code.pop(classroom.code, None)
                self._teacher_last_seen.pop(classroom.code, None)
                self._by_visitor = {
                    visitor: current
                    for visitor, current in self._by_visitor.items()
                    if current is not classroom
                }
            classroom.end()  # without the lock: listeners may call this object from another thread

    def _require_no_class(self, visitor: str) -> None:
        if not visitor:
            raise ClassroomError("This browser keeps no cookies, by which a class knows it.")
        current = self._by_visitor.get(visitor)
        if current is not None:
            action = "close" if current.is_teacher(visitor) else "leave"
            raise ClassroomError(f"You are in a class already; {action} that one first.")

    def _check_guess(
        self, attempts: Attempts, visitor: str, address: str, right: bool, message: str
    ) -> None:
        if attempts.is_blocked(visitor, address):
            raise ClassroomError(
                f"There were too many wrong tries from here; try again in {BLOCK_MINUTES} minutes."
            )
        if not right:
            attempts.record_wrong(visitor, address)
            raise ClassroomError(message)
