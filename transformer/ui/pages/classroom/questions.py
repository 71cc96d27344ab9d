"""A teacher's questions before and after a part of the lesson: ask, close, show and download."""

from __future__ import annotations

import streamlit as st

from transformer.classroom import Classroom, MeasuredQuestion
from transformer.classroom.examples import EXAMPLES
from transformer.classroom.measured import MAX_OPTIONS, MAX_QUESTION_LENGTH
from transformer.classroom.results import option_table, seat_table
from transformer.ui.services import live_classes
from transformer.ui.widgets import class_question, tables
from transformer.ui.widgets.callbacks import attempt, show_refusal

_TEXT, _OPTIONS, _CORRECT, _EXAMPLE = (
    f"class-ask-{name}" for name in ("text", "options", "correct", "example")
)
_REFUSED = "class-ask"


def show(classroom: Classroom) -> None:
    """Draw all questions of the class, the newest first, and the form for a new one."""
    st.header("A question before and after")
    questions = classroom.measured.all()
    st.caption(
        "Ask a question before a part of the lesson and again after it. Answers are anonymous, and "
        "sealed until you show them: until then you see only how many there are."
    )
    for status in reversed(questions):
        with st.container(border=True, key=f"class-asked-{status.number}"):
            class_question.draw_status(classroom, status)
            class_question.controls(classroom, status)
    _files(classroom)
    with st.expander("Ask a new question", expanded=not questions):
        _form(classroom)


def _files(classroom: Classroom) -> None:
    """Draw links to files of the answers that are shown; they contain no sealed answers."""
    measured = classroom.measured
    if not measured.results():
        return
    with st.container(horizontal=True, key="class-question-files"):
        tables.csv(
            "Votes and differences (.csv)",
            lambda: option_table(measured.results()),
            "votes",
            help="One row for each question, round and option, with the 95% interval",
        )
        tables.csv(
            "Anonymous answers (.csv)",
            lambda: seat_table(measured.results()),
            "answers",
            help="One row for each question and student, in random order",
        )


def _form(classroom: Classroom) -> None:
    st.selectbox(
        "Start from an example",
        [*EXAMPLES],
        index=None,
        key=_EXAMPLE,
        placeholder="No example",
        on_change=_fill,
    )
    with st.form("class-ask-form", border=False):
        st.text_area("Question", key=_TEXT, max_chars=MAX_QUESTION_LENGTH, height=90)
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
        st.form_submit_button("Ask the class", type="primary", on_click=live_classes.as_teacher,
                              args=(classroom, _ask, classroom))  # fmt: skip
    show_refusal(_REFUSED)


def _fill() -> None:
    """Fill the form with the chosen example; a callback."""
    question = EXAMPLES.get(st.session_state[_EXAMPLE] or "")
    if question is not None:
        _set_form(question.text, "\n".join(question.options), question.correct + 1)


def _ask(classroom: Classroom) -> None:
    """Ask the typed question and empty the form; a callback."""
    correct = st.session_state[_CORRECT] or 0  # None if the field is empty
    fields = st.session_state[_TEXT], st.session_state[_OPTIONS], correct
    if attempt(_REFUSED, lambda: classroom.measured.ask(MeasuredQuestion.read(*fields))):
        _set_form("", "", 1)
        st.session_state[_EXAMPLE] = None


def _set_form(text: str, options: str, correct: int) -> None:
    st.session_state[_TEXT], st.session_state[_OPTIONS] = text, options
    st.session_state[_CORRECT] = correct
