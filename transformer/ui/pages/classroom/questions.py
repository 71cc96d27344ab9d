"""The teacher's own questions: ask again, close and show; and all answers of the class."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from transformer.classroom import Classroom, MeasuredResult
from transformer.classroom.lesson_answers import question_title
from transformer.classroom.results import option_table
from transformer.ui.widgets import class_question, tables
from transformer.ui.widgets.fragment import fragment

REFRESH_SECONDS = 2.0
"""Seconds between two reruns of the table of all answers."""
SEALED = "sealed"


def show(classroom: Classroom) -> None:
    """Draw all questions of the class, the newest first, the table and the file of all answers."""
    questions = classroom.measured.all()
    if questions:
        st.header("Your questions")
    for status in reversed(questions):
        with st.container(border=True, key=f"class-asked-{status.number}"):
            class_question.draw_status(classroom, status)
            class_question.controls(classroom, status)
    fragment(_overview, "class-answers", REFRESH_SECONDS)(classroom)
    if results(classroom):
        tables.csv(
            "All answers (.csv)",
            lambda: option_table(results(classroom)),
            "answers",
            help="One row for each question, round and option, with the 95% interval of a "
            "difference",
        )


def results(classroom: Classroom) -> tuple[MeasuredResult, ...]:
    """Return the answers that are shown, to lessons and to the teacher's own questions."""
    return (*classroom.lessons.results(), *classroom.measured.results())


def _overview(classroom: Classroom) -> None:
    """Draw the number of answers to each question, and how many are right once they are shown."""
    rows = [
        (question_title(name), str(counts.total()), SEALED, "")
        for name, (counts, is_shown) in classroom.lessons.all().items()
        if not is_shown
    ]
    rows += [
        (status.question.text, _rounds(status.answered), SEALED, "")
        for status in classroom.measured.all()
        if not status.is_shown
    ]
    rows += [_row(result) for result in results(classroom)]
    if rows:
        st.header("All answers")
        tables.show("Answers of the class", ("Question", "Answers", "Right", "Options"), rows)


def _row(result: MeasuredResult) -> tuple[str, str, str, str]:
    votes = result.votes
    options = (
        f"{'✓ ' if index == result.correct else ''}{option}: {_rounds(v[index] for v in votes)}"
        for index, option in enumerate(result.options)
    )
    return (
        result.text,
        _rounds(map(sum, votes)),
        _rounds(v[result.correct] for v in votes),
        " · ".join(options),
    )


def _rounds(counts: Iterable[int]) -> str:
    """Return a number, or those before and after."""
    return " → ".join(map(str, counts))
