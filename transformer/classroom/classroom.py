"""One class: its members, the view to follow, and the answers to its questions."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from transformer.classroom.codes import ClassroomError
from transformer.classroom.joins import JoinLimit, RefusalReason
from transformer.classroom.lesson_answers import LessonAnswers
from transformer.classroom.measured import MeasuredQuestions
from transformer.classroom.plan_progress import PlanProgress
from transformer.classroom.stored import StoredClass, StoredMember
from transformer.classroom.tab_runs import TabRun

T = TypeVar("T")

JOINS_PER_SEAT = 2
"""Browsers that may join within a minute, for each seat of the class."""
MAX_URL_LENGTH = 20_000
"""Maximum length of a view's URL in characters."""
_NUMBERS = itertools.count(time.time_ns() // 1_000_000)
# Greater than those before a restart of the server.


@dataclass(frozen=True)
class Member:
    """A student of a class.

    Attributes:
        visitor: the id of the browser; never displayed.
        number: in the order of joining, from 1.
        name: the first name, "" for none.
    """

    visitor: str = field(repr=False)
    number: int
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or f"Student {self.number}"


@dataclass(frozen=True)
class ViewToFollow:
    """A view for the class to follow: a page of the app and its URL parameters.

    Attributes:
        number: unique and increasing across all classes.
    """

    page: str
    params: Mapping[str, str]
    number: int = 0


class Classroom:
    """One class, created by `Classes.open`. All methods are thread-safe.

    Attributes:
        code: the code that students type.
        teacher_name: the name of the teacher; "" for none.
        measured: the teacher's own questions, which the class may answer before and after a part of
            the lesson.
        lessons: the answers to lessons of the course.
        progress: the teacher's plan, and where in it the class is.
        own_engines: whether the students' browsers run the models themselves.
        ended: whether the class has ended; its data is then deleted.
        paused: whether the server stops; the class continues when it starts again.
    """

    def __init__(
        self,
        code: str,
        teacher: str,
        teacher_name: str,
        max_members: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        save: Callable[[Classroom], None] = lambda _: None,
    ) -> None:
        """
        Args:
            clock: monotonic, in seconds.
            save: called after each change that must survive a restart of the server.
        """
        self.code = code
        self._max_members, self._lock = max_members, threading.RLock()
        self._clock, self._save = clock, save
        parts = self._lock, lambda visitor: visitor in self._members, self._changed
        self.measured, self.lessons = MeasuredQuestions(*parts), LessonAnswers(*parts)
        self.progress = PlanProgress(self._lock, self.measured, self._changed)
        self._forget_all()
        self._teacher, self.teacher_name = teacher, teacher_name
        self._is_leading, self.own_engines = True, False
        self.ended, self.paused = False, False

    @classmethod
    def restored(cls, stored: StoredClass, max_members: int, **options: Any) -> Self:
        """Return the class of a file; `options` are those of the constructor.

        Raises:
            ValueError: if the parts of the file do not fit together.
        """
        classroom = cls(stored.code, stored.teacher, stored.teacher_name, max_members, **options)
        classroom._is_leading, classroom._n_joined = stored.is_leading, stored.n_joined
        classroom.own_engines = stored.own_engines
        for member in stored.members:
            classroom._members[member.visitor] = Member(member.visitor, member.number, member.name)
        classroom._removed, classroom._not_following = {*stored.removed}, {*stored.not_following}
        classroom.lessons.restore(stored.answers)
        classroom.measured.restore(stored.measured)
        classroom.progress.restore(stored.progress)
        return classroom

    def stored(self) -> StoredClass | None:
        """Return what the class needs after a restart; None once it has ended. The teacher's view
        is not stored: the teacher's browser sends it again."""
        with self._lock:
            if self.ended:
                return None
            return StoredClass(
                code=self.code,
                teacher=self._teacher,
                teacher_name=self.teacher_name,
                is_leading=self._is_leading,
                own_engines=self.own_engines,
                n_joined=self._n_joined,
                members=tuple(
                    StoredMember(visitor=member.visitor, number=member.number, name=member.name)
                    for member in self._members.values()
                ),
                removed=tuple(self._removed),
                not_following=tuple(self._not_following),
                answers=self.lessons.stored(),
                measured=self.measured.stored(),
                progress=self.progress.stored(),
            )

    def _forget_all(self) -> None:
        """Delete all data of the class."""
        self._teacher = self.teacher_name = ""
        self._members: dict[str, Member] = {}
        self._tab_runs: dict[str, tuple[TabRun, ...]] = {}  # the last of each visitor
        self._solved_cases: dict[str, tuple[int, ...]] = {}  # of the bug clinic, by visitor
        self._removed: set[str] = set()  # visitors whom the teacher has removed
        self._n_joined = 0
        self._not_following: set[str] = set()
        self._view_to_follow: ViewToFollow | None = None
        self._listeners: dict[object, tuple[str, Callable[[bool], None]]] = {}
        self._joins = JoinLimit(JOINS_PER_SEAT * self._max_members, self._clock)
        for part in (self.measured, self.lessons, self.progress):
            part.clear()

    # Teacher

    def is_teacher(self, visitor: str) -> bool:
        return bool(visitor) and visitor == self._teacher

    def set_own_engines(self, teacher: str, own_engines: bool) -> None:
        """Let the students' browsers run the models themselves, or the server. Does nothing for
        other visitors."""
        with self._lock:
            if not self.is_teacher(teacher):
                return
            self.own_engines = own_engines
        self._changed()

    # Members

    def member(self, visitor: str) -> Member | None:
        """Return this visitor's record as a student; None for the teacher and for others."""
        return self._members.get(visitor)

    def members(self) -> tuple[Member, ...]:
        """Return all students in the order of joining."""
        with self._lock:
            return tuple(self._members.values())

    def join(self, visitor: str, name: str = "") -> Member:
        """Add a student, or change a student's name.

        Raises:
            ClassroomError: if the class has ended or is full, if too many join at once, or if the
                teacher has removed the student.
        """
        try:
            member = self._join(visitor, name)
        except ClassroomError:
            self._notify()  # the teacher sees refused joins
            raise
        self._changed()
        return member

    def _join(self, visitor: str, name: str) -> Member:
        with self._lock:
            before = self._members.get(visitor)
            if self.ended:
                raise ClassroomError("This class has ended; ask your teacher for a new code.")
            if visitor in self._removed:
                raise ClassroomError("Your teacher has removed this browser from the class.")
            if before is None and len(self._members) >= self._max_members:
                self._joins.refuse(visitor, "full")
                raise ClassroomError(
                    f"This class has {self._max_members} students, as many as this app allows; "
                    "ask your teacher to raise class_members in limits.toml."
                )
            if before is None:
                self._joins.check(visitor)
                self._joins.add(visitor)
                self._n_joined += 1
            member = Member(visitor, before.number if before else self._n_joined, name)
            self._members[visitor] = member
            return member

    def refused_joins(self) -> dict[RefusalReason, int]:
        """Return how many browsers could not join: because too many joined within a minute
        ("rate"), or because the class has no free seat ("full")."""
        with self._lock:
            is_full = len(self._members) >= self._max_members
            return {
                "rate": self._joins.refused("rate"),
                "full": self._joins.refused("full") if is_full else 0,
            }

    def allow_joins(self, teacher: str) -> None:
        """Let refused browsers join at once. Does nothing for other visitors."""
        with self._lock:
            if not self.is_teacher(teacher):
                return
            self._joins.lift()
        self._notify()

    def leave(self, visitor: str) -> None:
        """Remove a student; only anonymous answer counts are kept."""
        with self._lock:
            self._forget(visitor)
        self._changed()

    def _forget(self, visitor: str) -> None:
        for by_visitor in (self._members, self._tab_runs, self._solved_cases):
            by_visitor.pop(visitor, None)
        self._not_following.discard(visitor)

    def remove(self, visitor: str) -> None:
        """Remove a student, who cannot join again; called by `Classes`."""
        with self._lock:
            self._removed.add(visitor)
        self.leave(visitor)

    # Follow me

    @property
    def is_leading(self) -> bool:
        """Whether students are to follow the teacher's views."""
        return self._is_leading

    @property
    def view_to_follow(self) -> ViewToFollow | None:
        """The view to follow now; None if there is none."""
        with self._lock:
            return self._view_to_follow

    def begin_leading(self, teacher: str) -> None:
        """Let students follow the teacher's views from now on. Does nothing for other visitors."""
        with self._lock:
            if not self.is_teacher(teacher):
                return
            self._is_leading = True
        self._changed()

    def set_view_to_follow(self, teacher: str, page: str, params: Mapping[str, str]) -> None:
        """Set the view to follow. Does nothing unless this visitor is the teacher and leads.

        Raises:
            ClassroomError: if the URL of the view is too long.
        """
        if (
            len(page) + sum(len(name) + len(value) for name, value in params.items())
            > MAX_URL_LENGTH
        ):
            raise ClassroomError(f"The URL exceeds {MAX_URL_LENGTH:,} characters.")
        with self._lock:
            view = self._view_to_follow
            is_same = view is not None and (view.page, view.params) == (page, params)
            if is_same or not (self._is_leading and self.is_teacher(teacher)):
                return
            self._view_to_follow = ViewToFollow(page, dict(params), next(_NUMBERS))
        self._notify()

    def stop_leading(self, teacher: str) -> None:
        """Stop following for all students. Does nothing for other visitors."""
        with self._lock:
            if not self.is_teacher(teacher):
                return
            self._is_leading = False
            self._view_to_follow = None
        self._changed()

    def follow(self, visitor: str, follows: bool) -> None:
        """Let this student follow the teacher's views, or stop following them."""
        with self._lock:
            if visitor not in self._members or (visitor not in self._not_following) == follows:
                return
            (self._not_following.discard if follows else self._not_following.add)(visitor)
        self._changed()

    def follows(self, visitor: str) -> bool:
        """Whether this student follows the teacher's views."""
        return visitor in self._members and visitor not in self._not_following

    def following(self) -> int:
        """Return the number of students who follow and have the app open."""
        with self._lock:
            connected = {visitor for visitor, _ in self._listeners.values()}
            return sum(
                visitor in connected and visitor not in self._not_following
                for visitor in self._members
            )

    # Runs in the students' browsers

    def report_tab_runs(self, visitor: str, runs: tuple[TabRun, ...]) -> None:
        """Keep the last run or race that a student's browser has trained. Does nothing for
        others."""
        with self._lock:
            if visitor in self._members:
                self._tab_runs[visitor] = runs

    def tab_runs(self) -> dict[str, tuple[TabRun, ...]]:
        """Return the last runs of each student, by the student's label with number if needed."""
        with self._lock:
            return self._by_label(self._tab_runs)

    def clear_tab_runs(self) -> None:
        with self._lock:
            self._tab_runs.clear()

    def report_solved_cases(self, visitor: str, cases: tuple[int, ...]) -> None:
        """Keep which cases of the bug clinic a student has solved, if any. Does nothing for
        others."""
        with self._lock:
            self._solved_cases.pop(visitor, None)
            if cases and visitor in self._members:
                self._solved_cases[visitor] = cases

    def solved_cases(self) -> dict[str, tuple[int, ...]]:
        """Return the solved cases of each student, by label as in `tab_runs`."""
        with self._lock:
            return self._by_label(self._solved_cases)

    def _by_label(self, reports: Mapping[str, T]) -> dict[str, T]:
        members = [self._members[visitor] for visitor in reports]
        labels = Counter(member.label for member in members)
        return {
            member.label
            if labels[member.label] == 1
            else f"{member.label} ({member.number})": reports[member.visitor]
            for member in members
        }

    # Change notifications

    def listen(
        self, visitor: str, on_change: Callable[[bool], None], limit: int
    ) -> Callable[[], None]:
        """Call `on_change(True)` after every change, from any thread; it must not block.

        `on_change(False)` is the last call: the class has ended, or `limit` newer listeners of this
        visitor have replaced this one. Returns a function that removes the listener.
        """
        key = object()
        with self._lock:
            if self.ended:
                removed = [on_change]
            else:
                own_keys = [old for old, (owner, _) in self._listeners.items() if owner == visitor]
                removed = [
                    self._listeners.pop(old)[1]
                    for old in own_keys[: max(0, len(own_keys) - limit + 1)]
                ]
                self._listeners[key] = visitor, on_change
        for old in removed:
            old(False)
        self._notify()

        def stop() -> None:
            with self._lock:
                listener = self._listeners.pop(key, None)
            if listener:
                self._notify()

        return stop

    def end(self) -> None:
        """End the class and delete its data; called by `Classes`."""
        with self._lock:
            listeners = self._take_listeners()
            self._forget_all()
            self.ended, self._is_leading = True, False
        self._save(self)
        for on_change in listeners:
            on_change(False)

    def disconnect(self) -> None:
        """Remove all listeners, when the server stops; called by `Classes`."""
        self.paused = True
        for on_change in self._take_listeners():
            on_change(False)

    def _take_listeners(self) -> list[Callable[[bool], None]]:
        with self._lock:
            listeners = [on_change for _, on_change in self._listeners.values()]
            self._listeners.clear()
        return listeners

    def _changed(self) -> None:
        """Save the class and tell its listeners."""
        self._save(self)
        self._notify()

    def _notify(self) -> None:
        with self._lock:
            listeners = [on_change for _, on_change in self._listeners.values()]
        for on_change in listeners:
            on_change(True)
