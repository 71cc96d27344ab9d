"""The form for one station of a lesson plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from transformer.classroom.examples import EXAMPLES
from transformer.classroom.plan import (
    MAX_MINUTES,
    MAX_OPTIONS,
    MAX_SENTENCE_LENGTH,
    MAX_TEXT_LENGTH,
    MAX_TITLE_LENGTH,
    MeasuredQuestion,
    Plan,
    Station,
    one_line,
    read_station,
    sentence_lessons,
)
from transformer.lessons.course import BY_NAME
from transformer.ui.widgets.callbacks import attempt, show_refusal

LESSON, SENTENCE, QUESTION, TASK = "Lesson", "Sentence", "Question", "Task"
KINDS = {
    QUESTION: "The class answers your own question. Its answers are anonymous, and sealed until "
    "you show them. Ask the same question at a later station to compare before and after.",
    LESSON: "A lesson of the course. Those marked “any sentence” can ask their question about a "
    "sentence of yours. Try it once: not every sentence shows what a lesson is about.",
    SENTENCE: "The page Try opens with your sentence.",
    TASK: "Nothing opens; the class sees the title and what to do.",
}
"""Kinds of stations, each with what happens there."""
_KIND, _TITLE, _MINUTES, _TEXT, _LESSON, _SENTENCE, _ASKED, _OPTIONS, _CORRECT, _WHY, _EXAMPLE = (
    f"station-{name}"
    for name in (
        *("kind", "title", "minutes", "text", "lesson", "sentence", "asked", "options"),
        *("correct", "explanation", "example"),
    )
)
_EDITED, _REFUSED = "station-edited", "class-station"
_TITLES = {QUESTION: "Question", SENTENCE: "A sentence", TASK: "Task"}


def edited_number() -> int | None:
    """Return the number of the station that the form changes; None for a new one."""
    number: int | None = st.session_state.get(_EDITED)
    return number


def forget() -> None:
    """Let the form add a new station."""
    st.session_state.pop(_EDITED, None)


def edit(number: int, plan: Plan) -> None:
    """Fill the form with a station, to change it; a callback."""
    station = plan.stations[number]
    st.session_state[_EDITED] = number
    st.session_state[_KIND] = (
        QUESTION
        if station.question
        else LESSON
        if station.lesson
        else SENTENCE
        if station.sentence
        else TASK
    )
    _fill_fields(
        {
            _TITLE: station.title,
            _MINUTES: station.minutes,
            _TEXT: station.text,
            _LESSON: station.lesson or next(iter(BY_NAME)),
            _SENTENCE: station.sentence,
        }
    )
    if station.question:
        _fill_question(station.question)


def draw(add: Callable[[Station, int | None], None]) -> None:
    """Draw the form; `add` takes a valid station and the number of the one that it replaces."""
    st.session_state.setdefault(_KIND, QUESTION)
    st.segmented_control("Kind of station", [*KINDS], key=_KIND, required=True)
    kind = st.session_state[_KIND]
    st.caption(KINDS[kind])
    if kind == QUESTION:
        st.selectbox(
            "Start from an example",
            [*EXAMPLES],
            index=None,
            key=_EXAMPLE,
            placeholder="No example",
            on_change=_take_example,
        )
    with st.form("station-form", border=False):
        _FIELDS[kind]()
        with st.container(horizontal=True):
            st.text_input("Title (optional)", key=_TITLE, max_chars=MAX_TITLE_LENGTH, width=420)
            st.session_state.setdefault(_MINUTES, 5)
            st.number_input("Minutes", 1, MAX_MINUTES, key=_MINUTES, width=120)
        st.text_input("What the class does there (optional)", key=_TEXT, max_chars=MAX_TEXT_LENGTH)
        label = "Add the station" if edited_number() is None else "Save the station"
        st.form_submit_button(label, type="primary", on_click=_submit, args=(add,))
    show_refusal(_REFUSED)


def _question_fields() -> None:
    st.text_area("Question", key=_ASKED, max_chars=MAX_TEXT_LENGTH, height=90)
    st.text_area(
        "Options, one per line", key=_OPTIONS, max_chars=2000, height=130, help="2 to 8 options"
    )
    st.number_input(
        "Number of the correct option",
        min_value=1,
        max_value=MAX_OPTIONS,
        key=_CORRECT,
        help="Marked when you show the answers. Its shares before and after are compared.",
    )
    st.text_input(
        "Explanation, shown with the answers (optional)", key=_WHY, max_chars=MAX_TEXT_LENGTH
    )


def _lesson_fields() -> None:
    own = set(sentence_lessons())
    st.selectbox(
        "Lesson",
        [*BY_NAME],
        key=_LESSON,
        format_func=lambda name: BY_NAME[name].title + (" · any sentence" if name in own else ""),
    )
    st.text_input("Your own sentence (optional)", key=_SENTENCE, max_chars=MAX_SENTENCE_LENGTH)


def _sentence_fields() -> None:
    st.text_input("Your sentence", key=_SENTENCE, max_chars=MAX_SENTENCE_LENGTH)


_FIELDS: dict[str, Callable[[], None]] = {
    QUESTION: _question_fields,
    LESSON: _lesson_fields,
    SENTENCE: _sentence_fields,
    TASK: lambda: None,
}


def _submit(add: Callable[[Station, int | None], None]) -> None:
    """Add the typed station and empty the form; a callback."""
    number = edited_number()
    if attempt(_REFUSED, lambda: add(read_station(_typed()), number)):
        forget()
        _fill_fields({_TITLE: "", _TEXT: "", _SENTENCE: "", _EXAMPLE: None})
        _fill_question(MeasuredQuestion("", (), 0))


def _typed() -> dict[str, Any]:
    """Return the fields of the typed station as in a file; empty ones are left out."""
    typed = st.session_state
    kind = typed[_KIND]
    lesson = typed.get(_LESSON) if kind == LESSON else ""
    values: dict[str, Any] = {
        "title": one_line(typed[_TITLE] or "")
        or (BY_NAME[lesson].title if lesson else _TITLES[kind]),
        "minutes": typed[_MINUTES] or 0,
        "text": one_line(typed[_TEXT] or ""),
        "lesson": lesson,
    }
    if kind in (LESSON, SENTENCE):
        values["sentence"] = one_line(typed[_SENTENCE] or "")
    station = {name: value for name, value in values.items() if value or name == "minutes"}
    if kind == SENTENCE and "sentence" not in station:
        station["sentence"] = ""  # refused: it is what the station is about
    if kind == QUESTION:
        lines = (typed[_OPTIONS] or "").splitlines()
        question = {
            "text": one_line(typed[_ASKED] or ""),
            "options": [line for line in map(one_line, lines) if line],
            "correct": typed[_CORRECT] or 0,
            "explanation": one_line(typed[_WHY] or ""),
        }
        station["question"] = {n: v for n, v in question.items() if v or n != "explanation"}
    return station


def _take_example() -> None:
    """Fill the form with the chosen example; a callback."""
    question = EXAMPLES.get(st.session_state[_EXAMPLE] or "")
    if question is not None:
        _fill_question(question)


def _fill_question(question: MeasuredQuestion) -> None:
    _fill_fields(
        {
            _ASKED: question.text,
            _OPTIONS: "\n".join(question.options),
            _CORRECT: question.correct + 1,
            _WHY: question.explanation,
        }
    )


def _fill_fields(values: dict[str, Any]) -> None:
    for key, value in values.items():
        st.session_state[key] = value
