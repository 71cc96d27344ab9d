"""One class: its members, the view that its teacher leads to, and the answers to its questions."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from transformer.classroom.codes import ClassroomError

RECENT = 32
"""Views that the class was led to and that are still known: whoever is slow is on one of them."""
QUESTIONS = 200
"""Questions that one class answers at most: more than the course has."""
LEAD_LENGTH = 20_000
"""Signs of one address at most."""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Member:
    """A student of a class.

    Attributes:
        visitor: the id of the browser; never shown to anybody.
        number: in the order of coming, from 1.
        name: the first name that was given, "" for none.
    """

    visitor: str = field(repr=False)
    number: int
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or f"Student {self.number}"


@dataclass(frozen=True)
class Lead:
    """A view that the class is led to: a page of the app and what stands in its address.

    Attributes:
        number: of this view alone, of all classes; it grows.
    """

    page: str
    params: Mapping[str, str]
    number: int = 0

    def is_at(self, page: str, params: Mapping[str, str]) -> bool:
        """Whether this is that view."""
        return self.page == page and self.params == params


class Classroom:
    """Made by `Classes.open`. Every method may be called from any thread.

    Attributes:
        code: what students type; teacher_name: "" for none.
        race: the id of the race that the class started last; "" for none.
    """

    def __init__(self, code: str, teacher: str, teacher_name: str, most: int) -> None:
        self.code, self.teacher_name = code, teacher_name
        self.race = ""
        self._race_runs: dict[str, str] = {}
        self._teacher, self._most, self._lock = teacher, most, threading.RLock()
        self._members: dict[str, Member] = {}
        self._came = 0
        self._away: set[str] = set()
        self._led: deque[Lead] = deque(maxlen=RECENT)
        self._leads = True
        self._answered: dict[str, set[str]] = {}  # who has answered, but not what
        self._counts: dict[str, Counter[int]] = {}
        self._shown: set[str] = set()
        self._listeners: dict[object, tuple[str, Callable[[bool], None]]] = {}
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the class is over; then it holds nothing any more."""
        return self._ended

    # Who is there

    def is_teacher(self, visitor: str) -> bool:
        return bool(visitor) and visitor == self._teacher

    def member(self, visitor: str) -> Member | None:
        """This visitor as a student of the class; its teacher is none."""
        return self._members.get(visitor)

    def members(self) -> tuple[Member, ...]:
        """All students, in the order of coming."""
        with self._lock:
            return tuple(self._members.values())

    def join(self, visitor: str, name: str = "") -> Member:
        """Add a student, or change a student's name. Raises ClassroomError if the class is full."""
        with self._lock:
            before = self._members.get(visitor)
            if self._ended:
                raise ClassroomError("This class has ended; ask your teacher for a new code.")
            if before is None and len(self._members) >= self._most:
                raise ClassroomError(
                    f"This class has {self._most} students, as many as this app allows; ask your "
                    "teacher to raise class_members in limits.toml."
                )
            self._came += before is None
            found = Member(visitor, before.number if before else self._came, name)
            self._members[visitor] = found
        self._tell()
        return found

    def leave(self, visitor: str) -> None:
        """Remove a student; only anonymous answer counts are kept."""
        with self._lock:
            self._members.pop(visitor, None)
            self._away.discard(visitor)
        self._tell()

    # Training together

    def begin_race(self, race: str, runs: Mapping[str, str]) -> None:
        """The class trains together now.

        Args:
            race: its id.
            runs: by a student's id, the name of the student's first run in it.
        """
        with self._lock:
            if self._ended:
                return
            self.race, self._race_runs = race, dict(runs)
        self._tell()

    def race_run(self, visitor: str) -> str:
        """The name of this student's run in the class's race; "" for none."""
        with self._lock:
            return self._race_runs.get(visitor, "")

    # Follow me

    @property
    def leads(self) -> bool:
        """Whether the teacher wants to be followed."""
        return self._leads

    @property
    def lead(self) -> Lead | None:
        """Where the class is led to now; None while nobody leads."""
        with self._lock:
            return self._led[-1] if self._led else None

    def begin_leading(self) -> None:
        """What the teacher looks at from now on is where the class is led to."""
        with self._lock:
            self._leads = not self._ended
        self._tell()

    def lead_to(self, page: str, params: Mapping[str, str]) -> None:
        """The teacher looks at this now. Raises ClassroomError for an address without end."""
        if len(page) + sum(len(name) + len(value) for name, value in params.items()) > LEAD_LENGTH:
            raise ClassroomError(f"The URL exceeds {LEAD_LENGTH:,} characters.")
        with self._lock:
            if not self._leads or (self._led and self._led[-1].is_at(page, params)):
                return
            self._led.append(Lead(page, dict(params), next(_NUMBERS)))
        self._tell()

    def stop_leading(self) -> None:
        """Everybody goes their own way."""
        with self._lock:
            self._leads = False
            self._led.clear()
        self._tell()

    def was_led_to(self, page: str, params: Mapping[str, str]) -> bool:
        """Whether this is a view that the class was led to just now."""
        with self._lock:
            return any(one.is_at(page, params) for one in self._led)

    def follow(self, visitor: str, follows: bool) -> None:
        """This student comes back to the teacher's view, or goes their own way."""
        with self._lock:
            if visitor not in self._members or (visitor not in self._away) == follows:
                return
            (self._away.discard if follows else self._away.add)(visitor)
        self._tell()

    def follows(self, visitor: str) -> bool:
        """Whether this is a student who has not gone their own way."""
        return visitor in self._members and visitor not in self._away

    def following(self) -> int:
        """Students who have the app open and follow."""
        with self._lock:
            here = {visitor for visitor, _ in self._listeners.values()}
            return sum(visitor in here and visitor not in self._away for visitor in self._members)

    # One question, all answers

    def answer(self, visitor: str, question: str, option: int) -> None:
        """A student's guess: the first one counts, and none after the answers were shown."""
        with self._lock:
            known = question in self._answered or len(self._answered) < QUESTIONS
            if visitor not in self._members or question in self._shown or not known:
                return
            answered = self._answered.setdefault(question, set())
            if visitor in answered:
                return
            answered.add(visitor)
            self._counts.setdefault(question, Counter())[option] += 1
        self._tell()

    def answers(self, question: str) -> Counter[int]:
        """How many took each option; nobody knows who."""
        with self._lock:
            return Counter(self._counts.get(question, ()))

    def show_answers(self, question: str) -> None:
        """From now on everybody sees them."""
        with self._lock:
            if len(self._shown) < QUESTIONS:
                self._shown.add(question)
        self._tell()

    def are_shown(self, question: str) -> bool:
        """Whether everybody may see what was answered, and what is right."""
        return question in self._shown

    def shown(self) -> frozenset[str]:
        """All questions whose answers everybody may see."""
        with self._lock:
            return frozenset(self._shown)

    # News

    def listen(self, visitor: str, heard: Callable[[bool], None], most: int) -> Callable[[], None]:
        """Call `heard(True)` after every change, from any thread; it must return at once.

        `heard(False)` is the last call: the class has ended, or `most` others of this visitor
        listen by now. Returns what ends it before.
        """
        key = object()
        with self._lock:
            if self._ended:
                gone = [heard]
            else:
                mine = [old for old, (whose, _) in self._listeners.items() if whose == visitor]
                gone = [self._listeners.pop(old)[1] for old in mine[: max(0, len(mine) - most + 1)]]
                self._listeners[key] = visitor, heard
        for old in gone:
            old(False)
        self._tell()

        def stop() -> None:
            with self._lock:
                there = self._listeners.pop(key, None)
            if there:
                self._tell()

        return stop

    def end(self) -> None:
        """The class is over, and everything that it held is gone. Called by `Classes`."""
        with self._lock:
            listeners = [heard for _, heard in self._listeners.values()]
            for kept in (self._members, self._away, self._led, self._answered, self._counts,
                         self._shown, self._listeners, self._race_runs):  # fmt: skip
                kept.clear()
            self._teacher = self.teacher_name = self.race = ""
            self._ended, self._leads = True, False
        for heard in listeners:
            heard(False)

    def _tell(self) -> None:
        with self._lock:
            listeners = [heard for _, heard in self._listeners.values()]
        for heard in listeners:
            heard(True)
