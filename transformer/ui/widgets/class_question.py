"""The class's current question on every page: options for students, controls for the teacher. Its
answers are sealed until the teacher shows them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from transformer.classroom import Classroom, MeasuredResult, QuestionStatus
from transformer.figures import rounds
from transformer.ui.base import visitor
from transformer.ui.base.registry import CLASS
from transformer.ui.services import live_classes
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.frame import plain

ROUND_NAMES = "Before", "After"
COUNT_SECONDS = 1.0
"""Seconds between two updates of the number of answers."""
_REFUSED = "class-question"


def card(file: str) -> None:
    """Draw the question that the class is answering or whose answers are shown, if there is one.

    The teacher's page Class lists all questions instead.
    """
    classroom = live_classes.current_class()
    status = classroom.measured.current if classroom else None
    if classroom is None or status is None or (file == CLASS and live_classes.is_teacher()):
        return
    with st.container(border=True, key="class-question"):
        if live_classes.is_teacher():
            draw_status(classroom, status)
            controls(classroom, status)
        elif status.is_shown:
            draw_status(classroom, status)
        else:
            _student(classroom, status)
        show_refusal(_REFUSED)


def draw_status(classroom: Classroom, status: QuestionStatus) -> None:
    """Draw the question with the number of its answers or, once they are shown, all of them."""
    result = classroom.measured.result(status.number)
    repeated = (
        (" · before and after" if status.is_shown else " · asked again") if status.round else ""
    )
    st.caption(f"Question {status.number}{repeated}")
    st.markdown(f":material/help: **{plain(status.question.text)}**")
    if result is not None:
        draw_result(result)
        if status.question.explanation:
            st.markdown(plain(status.question.explanation))
        return
    st.markdown("\n".join(f"- {plain(option)}" for option in status.question.options))
    if status.is_open:
        fragment(_count, f"class-question-{status.number}-{status.round}", COUNT_SECONDS)(
            classroom, status.number
        )
        return
    counts = zip(ROUND_NAMES, status.answered, strict=False)
    listed = ", ".join(f"{name.lower()} {count}" for name, count in counts)
    st.markdown(f":material/lock: Closed and sealed. Answers: {listed}.")


def draw_result(result: MeasuredResult) -> None:
    """Draw the votes of all rounds side by side, and the difference with its interval."""
    named = list(zip(ROUND_NAMES, result.votes, strict=False))
    st.html(rounds.rounds_table(result.options, named, result.correct))
    difference = result.difference()
    if difference is None:
        if result.n_rounds > 1:
            st.caption("One round has no answers, so there is no difference.")
        return
    interval = difference.interval
    bounds = interval.low, interval.value, interval.high
    (right_before, n_before), (right_after, n_after) = difference.before, difference.after
    shares = rounds.percent(right_before, n_before), rounds.percent(right_after, n_after)
    if difference.paired:
        based_on = f"{n_after} student{'' if n_after == 1 else 's'} who answered both times"
        numbers = f"{shares[0]} before, {shares[1]} after"
    else:
        based_on = "all students"
        numbers = f"{shares[0]} of {n_before} before, {shares[1]} of {n_after} after"
    st.markdown(
        f"Correct answers of {based_on}: {numbers}. "
        f"Difference: **{rounds.difference_text(bounds)}**."
    )
    st.html(rounds.difference_line(bounds))
    notes = []
    if not interval.excludes_zero:
        notes.append("The interval contains 0: these answers alone do not show a change.")
    if not difference.paired:
        notes.append(
            "Fewer than half of the students answered both times, so the rounds are compared as "
            "two independent groups."
        )
    if notes:
        st.caption(" ".join(notes))


def controls(classroom: Classroom, status: QuestionStatus) -> None:
    """Draw the teacher's buttons for a question. They do nothing if the question has changed or
    the class has ended in another tab."""
    measured, number = classroom.measured, status.number

    def button(
        label: str, key: str, action: Callable[..., None], *args: int, primary: bool = False
    ) -> None:
        st.button(
            label,
            key=f"class-question-{key}",
            type="primary" if primary else "secondary",
            on_click=live_classes.as_teacher,
            args=(classroom, action, *args),
        )

    with st.container(horizontal=True, key=f"class-question-controls-{number}"):
        if status.is_shown:
            current = measured.current
            if current is not None and current.number == number:
                button("Hide", f"hide-{number}", measured.hide)
            return
        if status.is_open:
            button("Close", f"close-{number}", measured.close, number)
        else:
            if not status.round:
                button("Ask again", f"again-{number}", measured.ask_again, number, primary=True)
            button("Reopen", f"reopen-{number}", measured.reopen, number)
        is_last = bool(status.round)
        button("Show the answers", f"show-{number}", measured.show, number, primary=is_last)
    if not status.round:
        st.caption("After you show the answers, you cannot ask this question again.")


def answered_bar(answered: int, members: int) -> None:
    """Draw how many students have answered."""
    st.progress(
        min(1.0, answered / max(1, members)), text=f"**{answered} of {members}** have answered"
    )


def _student(classroom: Classroom, status: QuestionStatus) -> None:
    """Draw the options, or that the answer is counted."""
    visitor_id = visitor.current_id()
    teacher = plain(live_classes.teacher_name(classroom))
    title = "The same question again" if status.round else "A question for the class"
    st.caption(f"{title} · anonymous, sealed until {teacher} shows the answers")
    st.markdown(f":material/help: **{plain(status.question.text)}**")
    if classroom.measured.has_answered(visitor_id, status.number):
        st.info("Your answer is counted.", icon=":material/lock:")
        return
    with st.container(key="class-question-options", gap="xsmall"):
        for index, option in enumerate(status.question.options):
            st.button(
                plain(option),
                key=f"class-answer-{status.number}-{status.round}-{index}",
                width="stretch",
                on_click=_answer,
                args=(status.number, status.round, index),
            )


def _answer(number: int, round_: int, option: int) -> None:
    classroom = live_classes.current_class()
    if classroom is not None:  # the class may have ended; the page then says so
        measured, visitor_id = classroom.measured, visitor.current_id()
        attempt(_REFUSED, lambda: measured.answer(visitor_id, number, round_, option))


def _count(classroom: Classroom, number: int) -> None:
    status = classroom.measured.current
    if status is not None and status.number == number:
        answered_bar(status.answered[-1], len(classroom.members()))
