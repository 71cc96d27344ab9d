"""All classes of one server: opened with the teacher's token, joined by their code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Literal

from transformer.classroom.classroom import Classroom
from transformer.classroom.codes import (
    ClassroomError,
    is_token,
    new_code,
    read_code,
    read_name,
)
from transformer.classroom.stored import ClassFiles

IDLE_SECONDS = 3 * 3600
"""Seconds without activity of its teacher after which a class ends."""

Departure = Literal["", "ended", "removed", "left"]
"""How a visitor was separated from the last class: it ended, the teacher removed the visitor, the
visitor left; "" if this server knows of none, as after a restart without the class's file."""
MAX_DEPARTURES = 10_000
"""Maximum number of browsers whose departure is remembered."""


class Classes:
    """All open classes, in memory and in files. All methods are thread-safe.

    `visitor` is an id that the caller chooses for a browser.
    """

    def __init__(
        self,
        token: str,
        max_members: int = 60,
        clock: Callable[[], float] = time.monotonic,
        folder: Path | None = None,
    ) -> None:
        """
        Args:
            token: the teacher's token, which opens a class.
            max_members: maximum number of students in a class.
            clock: monotonic clock in seconds.
            folder: of the files from which classes continue after a restart; None for none.
        """
        self._token, self._clock = token, clock
        self._max_members = max_members
        self._lock = threading.RLock()
        self._by_code: dict[str, Classroom] = {}
        self._by_visitor: dict[str, Classroom] = {}  # students and teachers
        self._teacher_last_seen: dict[str, float] = {}  # by code
        self._departures: dict[int, Departure] = {}  # by hash: no visitor is known after leaving
        self._files = ClassFiles(folder)
        for stored in self._files.load():
            with suppress(ValueError):
                classroom = Classroom.restored(stored, max_members, clock=clock, save=self._save)
                self._by_visitor[stored.teacher] = classroom
                self._add(classroom)
                self._departures |= {hash(visitor): "removed" for visitor in stored.removed}

    def __len__(self) -> int:
        return len(self._by_code)

    def open(self, token: str, visitor: str, name: str = "") -> Classroom:
        """Open a class with this visitor as its teacher.

        Raises:
            ClassroomError: for a wrong token, and if the visitor is in a class already.
        """
        name = read_name(name)
        self._end_idle()
        with self._lock:
            if not is_token(token, self._token):
                raise ClassroomError(
                    "This is not the teacher's token. You find it in limits.toml, or on the "
                    "console where the app was started."
                )
            self._require_no_class(visitor)
            code = new_code()
            while code in self._by_code:
                code = new_code()
            classroom = Classroom(
                code, visitor, name, self._max_members, clock=self._clock, save=self._save
            )
            self._by_visitor[visitor] = classroom
            self._add(classroom)
            self._departures.pop(hash(visitor), None)
        self._save(classroom)
        return classroom

    def _add(self, classroom: Classroom) -> None:
        self._by_code[classroom.code] = classroom
        self._by_visitor |= {member.visitor: classroom for member in classroom.members()}
        self._teacher_last_seen[classroom.code] = self._clock()

    def join(self, code: str, visitor: str, name: str = "") -> Classroom:
        """Join a class, or change the name if already in it; return the class.

        Raises:
            ClassroomError: for an invalid code or name, an unknown code, if the class is full, if
                too many join at once, and if the visitor is in another class or has been removed
                from this one.
        """
        name, code = read_name(name), read_code(code)
        self._end_idle()
        with self._lock:
            classroom = self._by_code.get(code)
            if classroom is None:
                raise ClassroomError(
                    "There is no class with this code; look again, or ask your teacher whether it "
                    "is still open."
                )
            is_same = self._by_visitor.get(visitor) is classroom
            if not is_same or classroom.is_teacher(visitor):
                self._require_no_class(visitor)
            classroom.join(visitor, name)
            self._by_visitor[visitor] = classroom
            self._departures.pop(hash(visitor), None)
        return classroom

    def class_of(self, visitor: str) -> Classroom | None:
        """Return the class of this teacher or student, if any."""
        self._end_idle()
        with self._lock:
            classroom = self._by_visitor.get(visitor) if visitor else None
            if classroom is not None and classroom.is_teacher(visitor):
                self._teacher_last_seen[classroom.code] = self._clock()
            return classroom

    def departure(self, visitor: str) -> Departure:
        """Return how this visitor was separated from the last class."""
        self._end_idle()
        with self._lock:
            return self._departures.get(hash(visitor), "")

    def leave(self, visitor: str) -> None:
        """Remove a student from their class. Does nothing for the teacher, who ends the class
        instead."""
        with self._lock:
            classroom = self._by_visitor.get(visitor)
            if classroom is None or classroom.is_teacher(visitor):
                return
            del self._by_visitor[visitor]
            self._note_departure(visitor, "left")
        classroom.leave(visitor)  # afterwards: its listeners ask for the departure

    def remove(self, teacher: str, numbers: Collection[int]) -> None:
        """Remove the students with these numbers from the class of this teacher; they cannot join
        it again with the same browser. Does nothing for other visitors."""
        with self._lock:
            classroom = self._by_visitor.get(teacher)
            if classroom is None or not classroom.is_teacher(teacher):
                return
            removed = [member for member in classroom.members() if member.number in numbers]
            for member in removed:
                del self._by_visitor[member.visitor]
                self._note_departure(member.visitor, "removed")
        for member in removed:
            classroom.remove(member.visitor)

    def end(self, visitor: str) -> None:
        """End the class of this teacher and delete its data. Does nothing for other visitors."""
        with self._lock:
            classroom = self._by_visitor.get(visitor)
        if classroom is not None and classroom.is_teacher(visitor):
            self._end([classroom])

    def close(self) -> None:
        """Disconnect all classes, when the server stops; their files stay for its restart."""
        with self._lock:
            classes = [*self._by_code.values()]
            for by_key in (self._by_code, self._by_visitor, self._teacher_last_seen):
                by_key.clear()
        for classroom in classes:
            classroom.disconnect()
        self._files.close()

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
                for member in classroom.members():
                    self._note_departure(member.visitor, "ended")
                self._by_visitor = {
                    visitor: current
                    for visitor, current in self._by_visitor.items()
                    if current is not classroom
                }
            classroom.end()  # without the lock: listeners may call this object from another thread

    def _require_no_class(self, visitor: str) -> None:
        if not visitor:
            raise ClassroomError(
                "This browser does not keep cookies; allow them for this app to join a class."
            )
        current = self._by_visitor.get(visitor)
        if current is not None:
            action = "close" if current.is_teacher(visitor) else "leave"
            raise ClassroomError(f"You are in a class already; {action} that one first.")

    def _note_departure(self, visitor: str, departure: Departure) -> None:
        self._departures.pop(hash(visitor), None)
        self._departures[hash(visitor)] = departure
        while len(self._departures) > MAX_DEPARTURES:
            del self._departures[next(iter(self._departures))]

    def _save(self, classroom: Classroom) -> None:
        self._files.save(classroom.code, classroom.stored)
