"""Questions that a class answers twice, before and after a part of the lesson.

The answers are sealed: until the teacher shows them, this module gives out only their number. A
seat is a student's browser. While a question is sealed, its answers are stored under a keyed hash
of the seat, so that the second answer of a seat can be matched with its first. Showing the answers
deletes the key and the hashes; what remains are pairs of answers in random order. The seats of two
questions cannot be matched.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from transformer.classroom.codes import ClassroomError
from transformer.classroom.plan import MeasuredQuestion
from transformer.classroom.results import MeasuredResult, SeatAnswers
from transformer.classroom.stored import NO_ANSWER, StoredQuestion, StoredQuestions

ROUNDS = "before", "after"
MAX_MEASURED = 30
"""Maximum number of questions of one class."""


@dataclass(frozen=True)
class QuestionStatus:
    """What may be known about a question while its answers are sealed.

    Attributes:
        number: of the question in its class, from 1.
        answered: number of answers in each round that has begun.
        is_open: whether the last round takes answers.
        is_shown: whether the answers are shown to the class.
    """

    number: int
    question: MeasuredQuestion
    answered: tuple[int, ...]
    is_open: bool
    is_shown: bool

    @property
    def round(self) -> int:
        """Index of the last round that has begun."""
        return len(self.answered) - 1


@dataclass
class _AskedQuestion:
    number: int
    question: MeasuredQuestion
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    rounds: list[dict[bytes, int]] = field(default_factory=lambda: [{}], repr=False)
    is_open: bool = True
    result: MeasuredResult | None = None

    def seat(self, visitor: str) -> bytes:
        return hmac.digest(self.key, visitor.encode("utf-8", "surrogatepass"), "sha256")

    def status(self) -> QuestionStatus:
        answered = (
            tuple(map(len, self.rounds))
            if self.result is None
            else tuple(sum(votes) for votes in self.result.votes)
        )
        return QuestionStatus(
            self.number, self.question, answered, self.is_open, self.result is not None
        )

    def stored(self) -> StoredQuestion:
        result = self.result
        return StoredQuestion(
            text=self.question.text,
            options=self.question.options,
            correct=self.question.correct,
            explanation=self.question.explanation,
            key=self.key.hex(),
            rounds=tuple(
                {seat.hex(): votes[seat] for seat in sorted(votes)} for votes in self.rounds
            ),
            is_open=self.is_open,
            n_rounds=result.n_rounds if result else len(self.rounds),
            seats=tuple(
                tuple(NO_ANSWER if option is None else option for option in seat)
                for seat in (result.seats if result else ())
            ),
        )

    @classmethod
    def restored(cls, number: int, stored: StoredQuestion) -> Self:
        """Return the question of a file. Raises ValueError if its parts do not fit together."""
        chosen = [
            *(vote for votes in stored.rounds for vote in votes.values()),
            *(option for seat in stored.seats for option in seat if option != NO_ANSWER),
        ]
        n_options = len(stored.options)
        if any(not 0 <= option < n_options for option in (stored.correct, *chosen)):
            raise ValueError(f"Question {number} has an answer that is none of its options.")
        if (stored.seats and stored.rounds) or (stored.is_open and not stored.rounds):
            raise ValueError(f"Question {number} is both sealed and shown.")
        question = MeasuredQuestion(stored.text, stored.options, stored.correct, stored.explanation)
        rounds = [
            {bytes.fromhex(seat): vote for seat, vote in votes.items()} for votes in stored.rounds
        ]
        asked = cls(number, question, bytes.fromhex(stored.key), rounds, stored.is_open)
        if not rounds:
            seats = tuple((_option(first), _option(second)) for first, second in stored.seats)
            asked.result = MeasuredResult(
                stored.text, stored.options, stored.correct, stored.n_rounds, seats
            )
        return asked


class MeasuredQuestions:
    """The measured questions of one class. All methods are thread-safe.

    At most one question is open at a time. Every action of the teacher may be repeated: a
    second click on the same button changes nothing.
    """

    def __init__(
        self,
        lock: threading.RLock,
        is_member: Callable[[str], bool],
        notify: Callable[[], None],
    ) -> None:
        """
        Args:
            lock: the lock of the class.
            is_member: whether a visitor is a student of the class.
            notify: called after every change, without the lock.
        """
        self._lock, self._is_member, self._notify = lock, is_member, notify
        self._records: dict[int, _AskedQuestion] = {}
        self._current = 0
        self._changes = 0

    @property
    def changes(self) -> int:
        """Number of changes by the teacher; answers do not count."""
        return self._changes

    @property
    def current(self) -> QuestionStatus | None:
        """The question that the pages of the class show now; None for none."""
        with self._lock:
            record = self._records.get(self._current)
            return record.status() if record else None

    def all(self) -> tuple[QuestionStatus, ...]:
        """Return all questions in the order in which they were asked."""
        with self._lock:
            return tuple(record.status() for record in self._records.values())

    def result(self, number: int) -> MeasuredResult | None:
        """Return the answers to a question; None while they are sealed."""
        with self._lock:
            record = self._records.get(number)
            return record.result if record else None

    def results(self) -> tuple[MeasuredResult, ...]:
        """Return the answers to all questions that are shown."""
        with self._lock:
            results = [record.result for record in self._records.values()]
        return tuple(result for result in results if result is not None)

    # Actions of the teacher

    def ask(self, question: MeasuredQuestion) -> int:
        """Ask a new question, round "before"; return its number.

        Raises:
            ClassroomError: if there are too many questions.
        """
        with self._lock:
            if len(self._records) >= MAX_MEASURED:
                raise ClassroomError(
                    f"This class has {MAX_MEASURED} questions, as many as this app allows."
                )
            self._close_all()
            number = len(self._records) + 1
            self._records[number] = _AskedQuestion(number, question)
            self._current = number
            self._changes += 1
        self._notify()
        return number

    def ask_again(self, number: int) -> None:
        """Begin the round "after" of a question. Does nothing if it has begun or is over."""

        def begin(record: _AskedQuestion) -> None:
            if len(record.rounds) < len(ROUNDS):
                self._close_all()
                record.rounds.append({})
                record.is_open, self._current = True, record.number

        self._change(number, begin)

    def reopen(self, number: int) -> None:
        """Let the last round take answers again. Does nothing if the answers are shown."""

        def reopen(record: _AskedQuestion) -> None:
            self._close_all()
            record.is_open, self._current = True, record.number

        self._change(number, reopen)

    def close(self, number: int) -> None:
        """End the current round; the answers stay sealed and the question leaves the pages."""

        def close(record: _AskedQuestion) -> None:
            record.is_open = False
            if self._current == record.number:
                self._current = 0

        self._change(number, close)

    def show(self, number: int) -> None:
        """Show the answers to the class and delete what links the answers to seats."""

        def show(record: _AskedQuestion) -> None:
            hashes = dict.fromkeys(seat for answers in record.rounds for seat in answers)
            seats: list[SeatAnswers] = [
                (record.rounds[0].get(seat), record.rounds[-1].get(seat))
                if len(record.rounds) == len(ROUNDS)
                else (record.rounds[0].get(seat), None)
                for seat in hashes
            ]
            secrets.SystemRandom().shuffle(seats)
            question = record.question
            record.result = MeasuredResult(
                question.text, question.options, question.correct, len(record.rounds), tuple(seats)
            )
            record.rounds, record.key, record.is_open = [], b"", False
            self._current = record.number

        self._change(number, show)

    def hide(self) -> None:
        """Remove a shown question from the pages of the class; an open one stays."""
        with self._lock:
            record = self._records.get(self._current)
            if record is None or record.is_open:
                return
            self._current = 0
            self._changes += 1
        self._notify()

    def stored(self) -> StoredQuestions:
        """Return what the questions need after a restart."""
        with self._lock:
            return StoredQuestions(
                changes=self._changes,
                current=self._current,
                questions=tuple(record.stored() for record in self._records.values()),
            )

    def restore(self, stored: StoredQuestions) -> None:
        """Add the questions of a file. Raises ValueError if they do not fit together."""
        with self._lock:
            self._changes, self._current = stored.changes, stored.current
            for number, question in enumerate(stored.questions, 1):
                self._records[number] = _AskedQuestion.restored(number, question)

    def clear(self) -> None:
        """Delete everything, when the class ends."""
        with self._lock:
            self._records.clear()
            self._current = 0

    # Answers of students

    def has_answered(self, visitor: str, number: int) -> bool:
        """Whether this visitor has answered in the last round of a sealed question."""
        with self._lock:
            record = self._records.get(number)
            return bool(record and not record.result and record.seat(visitor) in record.rounds[-1])

    def answer(self, visitor: str, number: int, round_: int, option: int) -> None:
        """Record a student's answer.

        Raises:
            ClassroomError: if the visitor is not a student of this class or has answered in this
                round, if the question is not open in this round, or has no such option.
        """
        with self._lock:
            record = self._records.get(number)
            if not self._is_member(visitor):
                raise ClassroomError(
                    "You are not a student of this class; join it with its code to answer."
                )
            if record is None or not record.is_open or round_ != len(record.rounds) - 1:
                raise ClassroomError(
                    "This question takes no more answers; wait for your teacher's next one."
                )
            if not 0 <= option < len(record.question.options):
                raise ClassroomError(
                    f"This question has the options 1 to {len(record.question.options)}; "
                    f"there is no option {option + 1}."
                )
            seat = record.seat(visitor)
            if seat in record.rounds[-1]:
                raise ClassroomError(
                    "You have answered this question already; only the first answer counts."
                )
            record.rounds[-1][seat] = option
        self._notify()

    def _change(self, number: int, change: Callable[[_AskedQuestion], None]) -> None:
        """Apply the teacher's change to a question that is not shown yet."""
        with self._lock:
            record = self._records.get(number)
            if record is None or record.result is not None:
                return
            change(record)
            self._changes += 1
        self._notify()

    def _close_all(self) -> None:
        for record in self._records.values():
            record.is_open = False


def _option(stored: int) -> int | None:
    return None if stored == NO_ANSWER else stored
