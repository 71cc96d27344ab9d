"""The course: its steps in order, by name, and where those of old addresses have gone."""

from __future__ import annotations

from transformer.ui.lessons.course_core import CORE
from transformer.ui.lessons.course_more import MORE
from transformer.ui.lessons.lesson import Lesson

__all__ = [
    "BY_NAME",
    "CORE",
    "END",
    "LESSONS",
    "MORE",
    "OLD",
    "before",
    "following",
    "group",
    "minutes",
    "place",
]

LESSONS = (*CORE, *MORE)
BY_NAME = {one.name: one for one in LESSONS}
END = "end"
"""What the address calls the end of the course."""
OLD = {
    str(number): name
    for number, name in enumerate(
        (
            "steps", "shifted", "missing", "lengths", "waves", "cosine", "meeting", "value",
            "keys", "scale", "back", "output", "infinity", "memory", "self", "units", "norm",
            "cost", "epsilon",
        ),
        start=1,
    )
}  # fmt: skip
"""Lessons were numbers once: the one that now has the matter of each."""


def group(lesson: Lesson) -> tuple[Lesson, ...]:
    """The walk that it belongs to: everybody's, or what there is more."""
    return MORE if lesson.more else CORE


def place(lesson: Lesson) -> int:
    """Its number in its walk, from 1."""
    return group(lesson).index(lesson) + 1


def following(name: str) -> str:
    """The name of the step after; `END` after the last of a walk."""
    walk = group(BY_NAME[name])
    number = place(BY_NAME[name])
    return walk[number].name if number < len(walk) else END


def before(name: str) -> str:
    """The name of the step before; "" for the first of a walk."""
    number = place(BY_NAME[name])
    return group(BY_NAME[name])[number - 2].name if number > 1 else ""


def minutes(lessons: tuple[Lesson, ...]) -> float:
    return sum(one.minutes for one in lessons)
