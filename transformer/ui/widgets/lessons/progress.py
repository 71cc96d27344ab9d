"""A visitor's answers: kept in the session, and by the visitor's id for other sessions."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.ui.services import live_classes
from transformer.ui.services.remembered import Kept
from transformer.ui.shell import visitor
from transformer.ui.widgets.lessons.lesson import Lesson

_KEY = "lesson_guesses"
MAX_BYTES = 4_000_000
"""Bytes of all visitors' answers; the least recently used are removed first."""


@dataclass(frozen=True)
class Guess:
    """A visitor's answer to a lesson.

    Attributes:
        label: the chosen option; "" if the answer was found on the page or the visitor gave up.
        right: whether the first answer was right. over: whether the answer may be shown.
    """

    label: str
    right: bool
    over: bool = True


_by_visitor: Kept[dict[str, Guess]] = Kept(MAX_BYTES)


def guesses() -> dict[str, Guess]:
    if _KEY not in st.session_state:
        st.session_state[_KEY] = dict(_by_visitor.get(visitor.known()) or {})
    stored: dict[str, Guess] = st.session_state[_KEY]
    return stored


def guess(name: str) -> Guess | None:
    return guesses().get(name)


def over(name: str) -> bool:
    """Whether a lesson's answer may be shown; to a teacher, once the class has seen it."""
    room = live_classes.mine()
    if room is not None and room.is_teacher(visitor.known()):
        return room.are_shown(name)
    stored = guess(name)
    return stored is not None and stored.over


def keep(name: str, new: Guess) -> None:
    """Store an answer. It counts as right only if no earlier one was wrong."""
    earlier = guess(name)
    right = new.right and (earlier is None or earlier.right)
    _store({**guesses(), name: Guess(new.label, right, new.over)})


def reset() -> None:
    """Delete all answers of this visitor."""
    _store({})


def count(lessons: tuple[Lesson, ...]) -> tuple[int, int]:
    """How many of these lessons are done, and how many were right at the first attempt."""
    done = [guess(lesson.name) for lesson in lessons if over(lesson.name)]
    return len(done), sum(answer is not None and answer.right for answer in done)


def _store(answers: dict[str, Guess]) -> None:
    st.session_state[_KEY] = answers
    if visitor_id := visitor.known():
        _by_visitor.put(visitor_id, dict(answers))
