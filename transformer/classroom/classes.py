"""All classes of one server: opened with the teacher's token, joined by their code."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from transformer.classroom.classroom import Classroom
from transformer.classroom.codes import ClassroomError, is_token, new_code, read_code, read_name

MINUTES = 10
KEYS = 4096
"""Visitors and addresses that are remembered at most; the longest ago are forgotten first."""
IDLE = 3 * 3600
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
        self._wrong: OrderedDict[tuple[int, str], deque[float]] = OrderedDict()

    def is_refused(self, visitor: str, address: str) -> bool:
        """Whether there were too many already; then a right guess must not be heard either."""
        return any(
            len(self._recent(key)) >= limit
            for key, limit in zip(enumerate((visitor, address)), self._limits, strict=True)
        )

    def wrong(self, visitor: str, address: str) -> None:
        for key in enumerate((visitor, address)):
            recent = self._recent(key)
            recent.append(self._clock())
            self._wrong[key] = recent
            self._wrong.move_to_end(key)
        while len(self._wrong) > KEYS:
            self._wrong.popitem(last=False)

    def _recent(self, key: tuple[int, str]) -> deque[float]:
        found = self._wrong.get(key, deque())
        while found and found[0] <= self._clock() - 60 * MINUTES:
            found.popleft()
        return found


class Classes:
    """The classes that there are, in memory alone. Every method may be called from any thread.

    A visitor is an id, an address a word that tells where a browser speaks from ("" if that is not
    known); both are whatever the caller knows them by.
    """

    def __init__(
        self,
        token: str,
        most: int = 20,
        members: int = 60,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            token: what opens a class.
            most: classes at a time; members: students of one of them.
        """
        self._token, self._most, self._places, self._clock = token, most, members, clock
        self._lock = threading.RLock()
        self._by_code: dict[str, Classroom] = {}
        self._of: dict[str, Classroom] = {}  # by visitor, students and teachers
        self._seen: dict[str, float] = {}  # when a class's teacher was last seen, by code
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
            self._guess(self._tokens, visitor, address, is_token(token, self._token), (
                "This is not the teacher's token. It stands in limits.toml, or on the console "
                "where the app was started."
            ))  # fmt: skip
            self._is_free(visitor)
            if len(self._by_code) >= self._most:
                raise ClassroomError(
                    f"There are {self._most} classes, as many as this app allows; close one, or "
                    "raise classes in limits.toml."
                )
            code = new_code()
            while code in self._by_code:
                code = new_code()
            found = Classroom(code, visitor, name, self._places)
            self._by_code[code] = self._of[visitor] = found
            self._seen[code] = self._clock()
        return found

    def join(self, code: str, visitor: str, address: str = "", name: str = "") -> Classroom:
        """The class of this code, with this visitor as a student of it; again to change the name.

        Raises:
            ClassroomError: for what is no code or no name, a wrong code, after too many of them, if
                all places are taken, and to whoever is in another class.
        """
        name, code = read_name(name), read_code(code)
        self._end_idle()
        with self._lock:
            found = self._by_code.get(code)
            self._guess(self._codes, visitor, address, found is not None, (
                "There is no class with this code; look again, or ask your teacher whether it is "
                "still open."
            ))  # fmt: skip
            assert found is not None
            if self._of.get(visitor) is not found or found.is_teacher(visitor):
                self._is_free(visitor)
            found.join(visitor, name)
            self._of[visitor] = found
        return found

    def of(self, visitor: str) -> Classroom | None:
        """The class that this visitor leads or is in, if any."""
        self._end_idle()
        with self._lock:
            found = self._of.get(visitor) if visitor else None
            if found is not None and found.is_teacher(visitor):
                self._seen[found.code] = self._clock()
            return found

    def leave(self, visitor: str) -> None:
        """This student is in no class any more; a teacher stays, and closes it instead."""
        with self._lock:
            found = self._of.get(visitor)
            if found is not None and not found.is_teacher(visitor):
                del self._of[visitor]
                found.leave(visitor)

    def end(self, visitor: str) -> None:
        """End the class of this teacher: names, answers and places are gone. Others do nothing."""
        with self._lock:
            found = self._of.get(visitor)
        if found is not None and found.is_teacher(visitor):
            self._end([found])

    def close(self) -> None:
        """End all of them; the server ends."""
        with self._lock:
            every = [*self._by_code.values()]
        self._end(every)

    def _end_idle(self) -> None:
        with self._lock:
            last = self._clock() - IDLE
            idle = [self._by_code[code] for code, seen in self._seen.items() if seen < last]
        self._end(idle)

    def _end(self, classes: list[Classroom]) -> None:
        for found in classes:
            with self._lock:
                self._by_code.pop(found.code, None)
                self._seen.pop(found.code, None)
                self._of = {who: one for who, one in self._of.items() if one is not found}
            found.end()  # not locked: what is undone then may ask for classes from another thread

    def _is_free(self, visitor: str) -> None:
        if not visitor:
            raise ClassroomError("This browser keeps no cookies, by which a class knows it.")
        other = self._of.get(visitor)
        if other is not None:
            what = "close" if other.is_teacher(visitor) else "leave"
            raise ClassroomError(f"You are in a class already; {what} that one first.")

    def _guess(
        self, attempts: Attempts, visitor: str, address: str, right: bool, said: str
    ) -> None:
        if attempts.is_refused(visitor, address):
            raise ClassroomError(
                f"There were too many wrong tries from here; try again in {MINUTES} minutes."
            )
        if not right:
            attempts.wrong(visitor, address)
            raise ClassroomError(said)
