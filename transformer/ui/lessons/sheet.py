"""Lessons to print, each and all: questions, room for answers, and the picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import streamlit as st

from transformer.figures.lesson_sheet import Exercise, sheet_page
from transformer.ui.kit.tables import download
from transformer.ui.lessons import course
from transformer.ui.lessons.lesson import Lesson
from transformer.ui.lessons.prepared import PreparedLesson, prepared, shelf

WHO = "Heads Up · guess first, then look"


def downloads() -> None:
    """The whole course, to be filled in or with its answers."""
    st.markdown("**To print**")
    with st.container(horizontal=True, key="sheets"):
        _button("The course as a sheet", course.CORE, "course", answers=False)
        _button("With its answers", course.CORE, "course-answers", answers=True)
        _button("What there is more", course.MORE, "more", answers=False)
        _button("That with its answers", course.MORE, "more-answers", answers=True)


def one(lesson: Lesson) -> None:
    _button("Print it", (lesson,), lesson.name, answers=False)


def _button(label: str, lessons: Sequence[Lesson], name: str, *, answers: bool) -> None:
    download(
        label,
        _page(lessons, answers),
        f"lessons-{name}.html",
        key=f"sheet-{name}",
        kind="tertiary" if len(lessons) == 1 else "secondary",
        about="A page that opens without a network, to be printed from the browser.",
    )


def _page(lessons: Sequence[Lesson], answers: bool) -> Callable[[], str]:
    """Made when it is asked for; what is needed of the session is read now."""
    there = shelf()

    def made() -> str:
        return page([prepared(lesson, there) for lesson in lessons], answers)

    return made


def page(ready: Sequence[PreparedLesson], answers: bool) -> str:
    """The sheet of these lessons, as a page of its own."""
    each = [exercise(one, answers) for one in ready]
    if len(each) == 1:
        return sheet_page(each[0].title, each, WHO)
    whole = round(course.minutes(tuple(one.lesson for one in ready)))
    about = f"{WHO} · {len(each)} steps, about {whole} minutes"
    return sheet_page("Attention, step by step", each, about)


def exercise(one: PreparedLesson, answers: bool) -> Exercise:
    """A lesson as it is printed, with the question as this model is asked it."""
    lesson, asked = one.lesson, one.question
    section = f" · paper, section {lesson.section}" if lesson.section else ""
    options = [option.label for option in asked.options] if asked else []
    notes = [plain(lesson.text)]
    if asked and asked.exhibit:
        notes.append(plain(asked.exhibit))
    answer = ""
    if answers and asked:
        answer = f"{asked.options[asked.right].label}: {asked.answer}" if options else asked.answer
    elif answers:
        answer = f"No model here shows it: {one.missing}."
    return Exercise(
        title=f"{course.place(lesson)}. {lesson.title}",
        meta=f"{lesson.minutes:g} min{section}",
        notes=notes,
        quote=f"As some notes have it: {lesson.misprint}" if lesson.misprint else "",
        question=lesson.question,
        options=[plain(option) for option in options],
        picture=asked.picture if asked else None,
        lines=2 if options else 4,
        answer=plain(answer),
    )


def plain(markdown: str) -> str:
    """Our Markdown without what only a screen shows."""
    return re.sub(r":material/\w+: ?", "", markdown)
