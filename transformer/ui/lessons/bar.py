"""The lesson above the page: its words, its question, and the ways to the others."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from transformer.ui import models, state
from transformer.ui.about import About, about
from transformer.ui.lessons.course import LESSONS
from transformer.ui.models import Model

_WANTED = "lesson_page"  # of the session: where a lesson's button leads


def show(page: str, model: Model | None) -> str | None:
    """Draws the lesson that the view is in, if it is in one; a sentence where there is none such.

    On another page than its own there is a way back to it.
    """
    number = state.view().lesson
    if not number:
        return None
    if number > len(LESSONS):
        state.normalise(lesson=0)
        return f"There is no lesson {number}; the last one is {len(LESSONS)}."
    lesson = LESSONS[number - 1]
    with st.container(border=True, key="lesson"):
        section = f" · paper, section {lesson.section}" if lesson.section else ""
        st.caption(f"Lesson {number} of {len(LESSONS)}{section}")
        st.markdown(f"**{lesson.title}.** {lesson.text}")
        if lesson.misprint:
            st.markdown(f"> As some notes have it: {lesson.misprint}")
        st.markdown(f":material/help: *{lesson.question}*")
        answer = st.container()
        with st.container(horizontal=True, vertical_alignment="center", key="lesson-ways"):
            shown = st.toggle("Show the answer", key=f"answer-{number}")
            _ways(page, number)
        if shown:
            kept = (model.name, model.about) if model else ()
            asked = lesson.opened(number, *kept)
            answer.success(lesson.answer(model, asked), icon=":material/check:")
    return None


def go(
    number: int,
    label: str,
    key: str,
    *,
    primary: bool = False,
    width: int | Literal["content"] = "content",
) -> None:
    """A button that opens a lesson's prepared view; `follow` then goes to its page."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    st.button(label, key=key, type=kind, width=width, on_click=_open, args=(number,))


def follow(page: str) -> None:
    """Before anything is drawn: on to the page of the lesson that was just chosen, or the list."""
    wanted = st.session_state.pop(_WANTED, page)
    if wanted != page:
        st.switch_page(wanted, query_params=state.params(wanted))


def _open(number: int) -> None:
    lesson = LESSONS[number - 1]
    state.replace_view(lesson.page, lesson.opened(number, *_kept_model()))
    st.session_state[_WANTED] = lesson.page


def _kept_model() -> tuple[str, About]:
    """The model that is looked at, if it can read the lessons' sentence; else the first."""
    folders, name = models.checkpoints(), state.view().model
    if name in folders and (found := about(folders[name])).languages and not found.kind:
        return name, found
    return "", about(next(iter(folders.values()))) if folders else About()


def _close(page: str) -> None:
    state.change(lesson=0)
    st.session_state[_WANTED] = page


def _ways(page: str, number: int) -> None:
    if page != LESSONS[number - 1].page:
        go(number, "Open its view", "lesson-own", primary=True)
    if number > 1:
        go(number - 1, "← Before", "lesson-before")
    if number < len(LESSONS):
        go(number + 1, f"Next: {LESSONS[number].title} →", "lesson-next", primary=True)
    st.button("All lessons", key="lesson-all", on_click=_close, args=("pages/lessons.py",))
    st.button("Close", key="lesson-close", on_click=_close, args=(page,))
