"""Answers to lessons: a visitor's own, and those of a whole class to the teacher's question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import streamlit as st

from transformer.api.sized_cache import SizedCache
from transformer.classroom import Classroom
from transformer.ui.base import visitor
from transformer.ui.services import live_classes
from transformer.ui.widgets import class_question
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.lessons.lesson import Lesson, escaped

_KEY = "lesson_guesses"
MAX_BYTES = 4_000_000
"""Bytes of all visitors' answers; the least recently used are removed first."""


@dataclass(frozen=True)
class Guess:
    """A visitor's answer to a lesson.

    Attributes:
        label: the chosen option; "" if the answer was found on the page or the visitor gave up.
        right: whether the first answer was right. revealed: whether the answer may be shown.
        class_code: code of the class in which it was given, "" outside of one.
    """

    label: str
    right: bool
    revealed: bool = True
    class_code: str = ""


_by_visitor: SizedCache[dict[str, Guess]] = SizedCache(MAX_BYTES)


def guesses() -> dict[str, Guess]:
    if _KEY not in st.session_state:
        st.session_state[_KEY] = dict(_by_visitor.get(visitor.current_id()) or {})
    stored: dict[str, Guess] = st.session_state[_KEY]
    return stored


def guess(name: str) -> Guess | None:
    """Return the answer to a lesson; in a class that a teacher leads, only one given there: an
    earlier group may have used this browser."""
    stored, classroom = guesses().get(name), live_classes.current_class()
    is_led = classroom is not None and _is_led(classroom, visitor.current_id())
    if stored is not None and classroom and is_led and stored.class_code != classroom.code:
        return None
    return stored


def is_revealed(name: str) -> bool:
    """Return whether to show a lesson's answer; a teacher sees it together with the class."""
    classroom = live_classes.current_class()
    if classroom is not None and classroom.is_teacher(visitor.current_id()):
        return classroom.are_shown(name)
    stored = guess(name)
    return stored is not None and stored.revealed


def store(name: str, answer: Guess) -> None:
    """Store an answer. It counts as right only if no earlier one was wrong."""
    previous = guess(name)
    right = answer.right and (previous is None or previous.right)
    classroom = live_classes.current_class()
    code = classroom.code if classroom else ""
    _store({**guesses(), name: Guess(answer.label, right, answer.revealed, code)})


def reset() -> None:
    """Delete all answers of this visitor."""
    _store({})


def count(lessons: tuple[Lesson, ...]) -> tuple[int, int]:
    """Return how many of these lessons are done, and how many were right at the first attempt."""
    guesses = [guess(lesson.name) for lesson in lessons if is_revealed(lesson.name)]
    return len(guesses), sum(answer is not None and answer.right for answer in guesses)


def _store(answers: dict[str, Guess]) -> None:
    st.session_state[_KEY] = answers
    if visitor_id := visitor.current_id():
        _by_visitor.put(visitor_id, dict(answers))


CLASS_POLL_SECONDS = 1.0
"""Seconds between two updates of the number of answers."""


class ClassPart(Enum):
    """A visitor's part in a question of their class."""

    ASKING = "the teacher, while the class answers"
    GUESSING = "a student who has not answered"
    WAITING = "a student who has answered"
    REVEALED = "everyone, once the answers are shown"


def class_part(name: str) -> ClassPart | None:
    """Return this visitor's part in a lesson's question; None if they answer it alone.

    An answer that waited for the teacher is revealed when the teacher stops leading or shows the
    answers.
    """
    classroom, visitor_id = live_classes.current_class(), visitor.current_id()
    if classroom is not None and classroom.is_teacher(visitor_id):
        return ClassPart.REVEALED if classroom.are_shown(name) else ClassPart.ASKING
    waits = classroom is not None and _waits_for_teacher(classroom, visitor_id, name)
    own_guess = guess(name)
    if own_guess is not None and own_guess.label and not own_guess.revealed and not waits:
        store(name, Guess(own_guess.label, own_guess.right))
    if classroom is None or not _is_led(classroom, visitor_id):
        return None
    if not waits:
        return ClassPart.REVEALED
    if is_revealed(name):
        return None
    return ClassPart.WAITING if own_guess is not None else ClassPart.GUESSING


def answer_in_class(name: str, number: int) -> bool:
    """Send an answer to the class, if there is one; return whether it waits for the teacher."""
    classroom, visitor_id = live_classes.current_class(), visitor.current_id()
    if classroom is None:
        return False
    waits = _waits_for_teacher(classroom, visitor_id, name)
    classroom.answer(visitor_id, name, number)
    return waits


def show_class_answers(name: str) -> None:
    """Show the answers to the whole class, if this visitor is its teacher."""
    classroom = live_classes.current_class()
    if classroom is not None and classroom.is_teacher(visitor.current_id()):
        classroom.show_answers(name)


def class_guesses(name: str, labels: Sequence[str]) -> None:
    """Draw the options and the number of answers for the teacher, whose screen the class sees. The
    answers stay hidden until the teacher shows them."""
    for label in labels:
        st.markdown(f"- {label}")
    fragment(_answer_count, f"together-{name}", CLASS_POLL_SECONDS)(name)


def class_bars(name: str, labels: Sequence[str], right: int) -> None:
    """Draw how often each option was chosen, with a mark on the right one; nothing while there are
    no answers."""
    classroom = live_classes.current_class()
    counts = classroom.answers(name) if classroom else {}
    total = sum(counts.values())
    if not total:
        return
    with st.container(key="lesson-answers", gap="xsmall"):
        for number, label in enumerate(labels):
            sign = ":material/check: " if number == right else ""
            share = counts.get(number, 0) / total
            st.progress(share, text=f"{sign}{label} · **{counts.get(number, 0)}**")


def class_waiting(name: str) -> None:
    own_guess, classroom = guess(name), live_classes.current_class()
    if own_guess is None or classroom is None:
        return
    teacher = escaped(live_classes.teacher_name(classroom))
    st.info(
        f"Your answer: **{own_guess.label}**. {teacher[:1].upper()}{teacher[1:]} will show all "
        "answers.",
        icon=":material/hourglass_top:",
    )


def _answer_count(name: str) -> None:
    classroom = live_classes.current_class()
    if classroom is not None:
        class_question.answered_bar(classroom.answers(name).total(), len(classroom.members()))


def _waits_for_teacher(classroom: Classroom, visitor_id: str, name: str) -> bool:
    """Return whether this student's answer stays hidden until the teacher shows it."""
    return _is_led(classroom, visitor_id) and not classroom.are_shown(name)


def _is_led(classroom: Classroom, visitor_id: str) -> bool:
    """Return whether the teacher leads the class and this student follows."""
    return classroom.view_to_follow is not None and classroom.follows(visitor_id)
