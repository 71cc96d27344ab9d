"""The list of all lessons, with the visitor's progress."""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from transformer.figures.lesson_thumbnail import lesson_thumbnail
from transformer.ui.base.registry import HOME, page_name
from transformer.ui.pages.learn import clinic
from transformer.ui.widgets import frame
from transformer.ui.widgets.lessons import course, progress
from transformer.ui.widgets.lessons.lesson import Lesson
from transformer.ui.widgets.lessons.lesson_card import lesson_button, style


def show(current: str) -> None:
    """Draw the list, a button for each lesson; `current` is the open lesson's name, if any."""
    style()
    n_done, n_right = progress.count(course.CORE)
    if current == course.END:
        end()
    elif not current:
        frame.lead_text(
            "How a Transformer uses attention. Guess first, then look: each lesson asks a question "
            f"and then shows the answer in the model's own numbers. {len(course.CORE)} lessons, "
            f"about {round(course.minutes(course.CORE))} minutes, with sections of the paper "
            "*Attention Is All You Need* to read more."
        )
        remaining = [lesson for lesson in course.CORE if not progress.is_revealed(lesson.name)]
        if remaining and n_done:
            st.markdown(
                f"{n_done} of {len(course.CORE)} lessons done, "
                f"{n_right} correct at the first attempt."
            )
        label = f"Continue: {remaining[0].title} →" if remaining and n_done else "Start →"
        lesson_button((remaining or course.CORE)[0].name, label, "lesson-start", primary=True)
    with st.container(key="course"), st.expander("All lessons") if current else st.container():
        _lessons(course.CORE)
        st.markdown(f"## Extra lessons  \n:small[{round(course.minutes(course.EXTRA))} minutes]")
        _lessons(course.EXTRA)
    if not current:
        st.markdown("## Bug clinic")
        clinic.link()


def _lessons(lessons: tuple[Lesson, ...]) -> None:
    for part, members in groupby(lessons, key=lambda lesson: lesson.part):
        st.markdown(f"**{part}**")
        for lesson in members:
            name, number = lesson.name, course.number(lesson)
            with st.container(horizontal=True, vertical_alignment="center", key=f"step-{name}"):
                st.html(lesson_thumbnail(lesson.picture), width="content")
                lesson_button(name, f"{number}. {lesson.title}", f"open-{name}")
                st.markdown(f":small[{_details(lesson)}]{_status(lesson)}", width="content")


def _status(lesson: Lesson) -> str:
    guess = progress.guess(lesson.name)
    if guess is None or not guess.revealed:
        return ""
    return " :material/check: correct" if guess.right else " :material/remove: done"


def _details(lesson: Lesson) -> str:
    minutes = f"{lesson.minutes:g} minute{'' if lesson.minutes == 1 else 's'}"
    section = f" · paper, section {lesson.section}" if lesson.section else ""
    mistake = " · **find the mistake**" if lesson.misprint else ""
    return f"{minutes} · in {page_name(lesson.page, lesson.depth)}{section}{mistake}"


def end() -> None:
    """Draw the last page of the course: a summary, the visitor's result and where to go next."""
    n_done, n_right = progress.count(course.CORE)
    st.header("End of the course", anchor=False)
    remaining = [lesson for lesson in course.CORE if not progress.is_revealed(lesson.name)]
    st.markdown(
        f"{n_done} of {len(course.CORE)} lessons done, **{n_right} correct at the first attempt**."
    )
    if remaining:
        count = "1 lesson" if len(remaining) == 1 else f"{len(remaining)} lessons"
        lesson_button(
            remaining[0].name, f"{count} left. Continue: {remaining[0].title} →", "lesson-continue"
        )
    st.markdown("What you learned:")
    st.markdown("\n".join(f"- {lesson.takeaway}" for lesson in course.CORE))
    st.markdown("Continue with:")
    with st.container(horizontal=True, key="course-next"):
        lesson_button(
            course.EXTRA[0].name,
            f"{len(course.EXTRA)} extra lessons",
            "extra-lessons",
            primary=True,
        )
        frame.page_link(HOME, "Your own sentence →", depth="bands", pin="")
        frame.page_link("pages/train.py", "Train a model →", run="")
        frame.page_link("pages/research.py", "Published findings →", experiment="findings")
    n_extra_done, n_extra_right = progress.count(course.EXTRA)
    if n_extra_done:
        st.markdown(
            f"Extra lessons: {n_extra_done} of {len(course.EXTRA)} done, {n_extra_right} correct."
        )
    st.button("Reset answers", key="reset-answers", on_click=progress.reset)
