"""The course: its steps in order, by name, and the names that replaced old lesson numbers."""

from __future__ import annotations

from transformer.ui.widgets.lessons.course_core import CORE
from transformer.ui.widgets.lessons.course_more import EXTRA
from transformer.ui.widgets.lessons.lesson import Lesson

__all__ = [
    "BY_NAME",
    "CORE",
    "END",
    "EXTRA",
    "LESSONS",
    "OLD_NUMBERS",
    "following",
    "group",
    "minutes",
    "number",
    "previous",
]

LESSONS = (*CORE, *EXTRA)
BY_NAME = {lesson.name: lesson for lesson in LESSONS}
END = "end"
"""The name of the last page of the course in addresses."""
OLD_NUMBERS = {
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
"""Old addresses number the lessons: the lesson that now covers the subject of each."""


def group(lesson: Lesson) -> tuple[Lesson, ...]:
    """The lessons that it belongs to: the main course or the extra lessons."""
    return EXTRA if lesson.extra else CORE


def number(lesson: Lesson) -> int:
    """Its number in its group, from 1."""
    return group(lesson).index(lesson) + 1


def following(name: str) -> str:
    """The name of the next lesson; `END` after the last of a group."""
    lessons, count = group(BY_NAME[name]), number(BY_NAME[name])
    return lessons[count].name if count < len(lessons) else END


def previous(name: str) -> str:
    """The name of the lesson before; "" for the first of a group."""
    count = number(BY_NAME[name])
    return group(BY_NAME[name])[count - 2].name if count > 1 else ""


def minutes(lessons: tuple[Lesson, ...]) -> float:
    return sum(lesson.minutes for lesson in lessons)
