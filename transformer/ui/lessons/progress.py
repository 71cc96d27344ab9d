"""What a visitor has guessed: kept in the session, and by the browser's id for a reload."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.ui import live_classes
from transformer.ui.kit.remembered import Kept
from transformer.ui.lessons.lesson import Lesson
from transformer.ui.server import visitor

_KEY = "lesson_guesses"
ROOM = 4_000_000
"""Bytes of the guesses of all visitors; who was not here for longest is forgotten first, all when
the server ends."""


@dataclass(frozen=True)
class Guess:
    """A visitor's answer to a lesson.

    Attributes:
        label: the option that was taken; "" for what was found on the page, or given up.
        right: whether it was, the first time; over: whether the answer may be seen.
    """

    label: str
    right: bool
    over: bool = True


_of_visitors: Kept[dict[str, Guess]] = Kept(ROOM)


def guesses() -> dict[str, Guess]:
    if _KEY not in st.session_state:
        st.session_state[_KEY] = dict(_of_visitors.get(visitor.known()) or {})
    found: dict[str, Guess] = st.session_state[_KEY]
    return found


def guess(name: str) -> Guess | None:
    return guesses().get(name)


def over(name: str) -> bool:
    """Whether a lesson's answer may be seen: for a teacher, once it was shown to the class."""
    room = live_classes.mine()
    if room is not None and room.is_teacher(visitor.known()):
        return room.are_shown(name)
    found = guess(name)
    return found is not None and found.over


def keep(name: str, one: Guess) -> None:
    """The first answer counts: whoever was wrong before is not right now."""
    before = guess(name)
    right = one.right and (before is None or before.right)
    _put({**guesses(), name: Guess(one.label, right, one.over)})


def start_anew() -> None:
    _put({})


def count(lessons: tuple[Lesson, ...]) -> tuple[int, int]:
    """Of these lessons how many are done, and how many were right at the first guess."""
    done = [guess(one.name) for one in lessons if over(one.name)]
    return len(done), sum(one is not None and one.right for one in done)


def _put(all_of_them: dict[str, Guess]) -> None:
    st.session_state[_KEY] = all_of_them
    if known := visitor.known():
        _of_visitors.put(known, dict(all_of_them))
