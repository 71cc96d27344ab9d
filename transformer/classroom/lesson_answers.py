"""The answers of a class to the questions of lessons.

They are anonymous: only how often each option was chosen is kept, and apart from that who has
answered.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from transformer.classroom.results import MeasuredResult
from transformer.classroom.stored import StoredAnswers
from transformer.lessons.course import BY_NAME

MAX_QUESTIONS = 200
"""Maximum number of questions a class can answer; more than the course has."""
_SEPARATOR = ": "


def question_key(lesson: str, sentence: str = "") -> str:
    """Return the name of a lesson's question in a class; `sentence` is a teacher's own. The client
    has the same in `lessonAbout`."""
    return f"{lesson}{_SEPARATOR}{sentence}" if sentence else lesson


class LessonAnswers:
    """The answers of one class to lessons, by `question_key`. All methods are thread-safe."""

    def __init__(
        self,
        lock: threading.RLock,
        is_member: Callable[[str], bool],
        changed: Callable[[], None],
    ) -> None:
        """
        Args:
            lock: the lock of the class.
            is_member: whether a visitor is a student of the class.
            changed: called after every change, without the lock.
        """
        self._lock, self._is_member, self._changed = lock, is_member, changed
        self.clear()

    def clear(self) -> None:
        self._answered: dict[str, set[str]] = {}  # visitors, without their answers
        self._counts: dict[str, Counter[int]] = {}
        self._shown: dict[str, tuple[tuple[str, ...], int]] = {}  # options and the right one

    def answer(self, visitor: str, question: str, option: int) -> None:
        """Record a student's answer: only the first one counts, and none after the answers are
        shown."""
        with self._lock:
            accepted = question in self._answered or len(self._answered) < MAX_QUESTIONS
            if not self._is_member(visitor) or question in self._shown or not accepted:
                return
            answered = self._answered.setdefault(question, set())
            if visitor in answered:
                return
            answered.add(visitor)
            self._counts.setdefault(question, Counter())[option] += 1
        self._changed()

    def counts(self, question: str) -> Counter[int]:
        """Return the number of answers for each option."""
        with self._lock:
            return Counter(self._counts.get(question, ()))

    def has_answered(self, visitor: str, question: str) -> bool:
        with self._lock:
            return visitor in self._answered.get(question, ())

    def all(self) -> dict[str, tuple[Counter[int], bool]]:
        """Return the number of answers for each option, and whether they are shown to the class,
        by question."""
        with self._lock:
            names = dict.fromkeys([*self._counts, *self._shown])
            return {name: (self.counts(name), name in self._shown) for name in names}

    def show(self, question: str, options: Sequence[str] = (), correct: int = 0) -> None:
        """Show the answers to a question to the whole class.

        Args:
            options: the texts of the options, as the teacher's browser shows them; none if the
                answer is to be found on a page.
            correct: index of the right one.
        """
        with self._lock:
            if question in self._shown or len(self._shown) >= MAX_QUESTIONS:
                return
            self._shown[question] = tuple(options), correct
        self._changed()

    def shown(self) -> frozenset[str]:
        """Return all questions whose answers are shown to the class."""
        with self._lock:
            return frozenset(self._shown)

    def results(self) -> tuple[MeasuredResult, ...]:
        """Return the answers that are shown, to questions with options."""
        with self._lock:
            shown = {name: (*known, self.counts(name)) for name, known in self._shown.items()}
        return tuple(
            MeasuredResult(
                question_title(name),
                options,
                correct,
                1,
                tuple(
                    (option, None)
                    for option in sorted(counts.elements())
                    if 0 <= option < len(options)
                ),
            )
            for name, (options, correct, counts) in shown.items()
            if options
        )

    def stored(self) -> tuple[StoredAnswers, ...]:
        """Return what the answers need after a restart."""
        with self._lock:
            return tuple(
                self._stored(name) for name in dict.fromkeys([*self._answered, *self._shown])
            )

    def _stored(self, question: str) -> StoredAnswers:
        counts = self._counts.get(question, Counter())
        options, correct = self._shown.get(question, ((), 0))
        return StoredAnswers(
            lesson=question,
            answered=tuple(sorted(self._answered.get(question, ()))),  # not in the order of answers
            counts={str(option): count for option, count in sorted(counts.items())},
            shown=question in self._shown,
            options=options,
            correct=correct,
        )

    def restore(self, stored: Sequence[StoredAnswers]) -> None:
        """Add the answers of a file. Raises ValueError if they do not fit together."""
        with self._lock:
            for answers in stored:
                if answers.answered:
                    counts = {int(option): count for option, count in answers.counts.items()}
                    self._answered[answers.lesson] = {*answers.answered}
                    self._counts[answers.lesson] = Counter(counts)
                if answers.options and not 0 <= answers.correct < len(answers.options):
                    raise ValueError(f"The lesson {answers.lesson!r} has no right option.")
                if answers.shown:
                    self._shown[answers.lesson] = answers.options, answers.correct


def question_title(question: str) -> str:
    """Return the title of a lesson, with the teacher's own sentence if it has one."""
    name, _, sentence = question.partition(_SEPARATOR)
    title = BY_NAME[name].title if name in BY_NAME else name
    return f"{title} ({sentence})" if sentence else title
