"""One question for a whole class: students answer, the teacher sees how many have, and shows all
answers at once.

Who follows the teacher waits with them; who goes their own way learns at once, and is counted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import streamlit as st

from transformer.classroom import Classroom
from transformer.ui.services import live_classes
from transformer.ui.shell import visitor
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.lessons import progress
from transformer.ui.widgets.lessons.lesson import escaped
from transformer.ui.widgets.lessons.progress import Guess

EVERY = 1.0
"""Seconds between two looks at what was guessed."""


class ClassPart(Enum):
    """What somebody has to do with a question of their class."""

    ASKING = "the teacher, while the class guesses"
    GUESSING = "a student who has not guessed"
    WAITING = "a student who has"
    SHOWN = "everybody, once it is time"


def part(name: str) -> ClassPart | None:
    """This visitor's part in a lesson's question; None where they answer it for themselves.

    A guess that waited for a teacher who leads no more, or who has shown the answers, waits no
    longer.
    """
    room, me = live_classes.mine(), visitor.known()
    if room is not None and room.is_teacher(me):
        return ClassPart.SHOWN if room.are_shown(name) else ClassPart.ASKING
    waits = room is not None and _waits(room, me, name)
    guessed = progress.guess(name)
    if guessed is not None and guessed.label and not guessed.over and not waits:
        progress.keep(name, Guess(guessed.label, guessed.right))
    if room is None or room.lead is None or not room.follows(me):
        return None
    if not waits:
        return ClassPart.SHOWN
    if progress.over(name):
        return None
    return ClassPart.WAITING if guessed is not None else ClassPart.GUESSING


def answer(name: str, number: int) -> bool:
    """A guess, told to the class if there is one; whether it waits for the teacher."""
    room, me = live_classes.mine(), visitor.known()
    if room is None:
        return False
    waits = _waits(room, me, name)
    room.answer(me, name, number)
    return waits


def show(name: str) -> None:
    """The answer may be seen; if this visitor is the teacher, by the whole class."""
    room = live_classes.mine()
    if room is not None and room.is_teacher(visitor.known()):
        room.show_answers(name)


def filling(name: str, labels: Sequence[str]) -> None:
    """For the teacher, whose screen the class sees: the options, and how many have answered. What
    was answered stays hidden until the teacher shows it."""
    for label in labels:
        st.markdown(f"- {label}")
    fragment(_filling, f"together-{name}", EVERY)(name)


def bars(name: str, labels: Sequence[str], right: int | None = None) -> None:
    """How many took each option; `right` is marked where it may be seen. Nothing without a class,
    or where nobody has guessed."""
    room = live_classes.mine()
    counts = room.answers(name) if room else {}
    total = sum(counts.values())
    if right is not None and not total:
        return
    with st.container(key="lesson-answers", gap="xsmall"):
        for number, label in enumerate(labels):
            sign = ":material/check: " if number == right else ""
            share = counts.get(number, 0) / max(1, total)
            st.progress(share, text=f"{sign}{label} · **{counts.get(number, 0)}**")


def waiting(name: str) -> None:
    guessed, room = progress.guess(name), live_classes.mine()
    if guessed is None or room is None:
        return
    teacher = escaped(live_classes.called(room))
    st.info(
        f"Your answer: **{guessed.label}**. {teacher[:1].upper()}{teacher[1:]} will show all "
        "answers.",
        icon=":material/hourglass_top:",
    )


def _filling(name: str) -> None:
    room = live_classes.mine()
    if room is not None:
        answered, members = room.answers(name).total(), len(room.members())
        st.progress(
            min(1.0, answered / max(1, members)), text=f"**{answered} of {members}** have answered"
        )


def _waits(room: Classroom, me: str, name: str) -> bool:
    """Whether this student's answer is the teacher's to show."""
    return room.lead is not None and room.follows(me) and not room.are_shown(name)
