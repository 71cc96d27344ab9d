"""Printable lessons: questions, space for answers, and the picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import streamlit as st

from transformer.figures.lesson_sheet import Exercise, sheet_page
from transformer.ui.widgets.lessons import course
from transformer.ui.widgets.lessons.lesson import Lesson
from transformer.ui.widgets.lessons.prepared import PreparedLesson, available_models, prepared
from transformer.ui.widgets.tables import download

CREDIT = "Heads Up · guess first, then look"


def downloads() -> None:
    """Draw buttons for the sheets of both groups of lessons, without and with the answers."""
    st.markdown("**Printable sheets**")
    with st.container(horizontal=True, key="sheets"):
        _button("Course", course.CORE, "course", answers=False)
        _button("Course with answers", course.CORE, "course-answers", answers=True)
        _button("Extra lessons", course.EXTRA, "more", answers=False)
        _button("Extra lessons with answers", course.EXTRA, "more-answers", answers=True)


def button(lesson: Lesson) -> None:
    """Draw the button that downloads the sheet of one lesson."""
    _button("Print", (lesson,), lesson.name, answers=False)


def _button(label: str, lessons: Sequence[Lesson], name: str, *, answers: bool) -> None:
    download(
        label,
        _page(lessons, answers),
        f"lessons-{name}.html",
        key=f"sheet-{name}",
        kind="tertiary" if len(lessons) == 1 else "secondary",
        help="An HTML page that works offline; print it from the browser.",
    )


def _page(lessons: Sequence[Lesson], answers: bool) -> Callable[[], str]:
    """Return a function that builds the sheet when it is downloaded; the session is read now."""
    available = available_models()

    def build() -> str:
        return page([prepared(lesson, available) for lesson in lessons], answers)

    return build


def page(prepared_lessons: Sequence[PreparedLesson], answers: bool) -> str:
    """Return the sheet of these lessons, as an HTML page."""
    exercises = [exercise(lesson, answers) for lesson in prepared_lessons]
    if len(exercises) == 1:
        return sheet_page(exercises[0].title, exercises, CREDIT)
    minutes = round(course.minutes(tuple(lesson.lesson for lesson in prepared_lessons)))
    description = f"{CREDIT} · {len(exercises)} lessons, about {minutes} minutes"
    return sheet_page("Attention, step by step", exercises, description)


def exercise(prepared_lesson: PreparedLesson, answers: bool) -> Exercise:
    """Return a lesson in the form in which it is printed."""
    lesson, question = prepared_lesson.lesson, prepared_lesson.question
    section = f" · paper, section {lesson.section}" if lesson.section else ""
    options = [option.label for option in question.options] if question else []
    notes = [plain(lesson.text)]
    if question and question.exhibit:
        notes.append(plain(question.exhibit))
    answer = ""
    if answers and question:
        label = f"{options[question.correct]}: " if options else ""
        answer = f"{label}{question.answer}"
    elif answers:
        answer = f"No model here shows this: {prepared_lesson.reason}."
    return Exercise(
        title=f"{course.number(lesson)}. {lesson.title}",
        meta=f"{lesson.minutes:g} min{section}",
        notes=notes,
        quote=f"Misprint: {lesson.misprint}" if lesson.misprint else "",
        question=lesson.question,
        options=[plain(option) for option in options],
        picture=question.picture if question else None,
        lines=2 if options else 4,
        answer=plain(answer),
    )


def plain(markdown: str) -> str:
    """Return Markdown without the icons that only Streamlit draws."""
    return re.sub(r":material/\w+: ?", "", markdown)
