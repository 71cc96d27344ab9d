"""Questions that the visitor's browser makes from the packed trace of a lesson's sentence.

`app/learn/lesson.js` draws the picture, makes the question once a session and sends it. It is shown
to this visitor only; a class collects the numbers of the chosen options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from transformer.api import answers
from transformer.figures.packed_trace import aligner_fields
from transformer.ui.services.models import Model
from transformer.ui.widgets import views
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase, Option, Question

_KEY = "lesson_questions"


def stored(lesson: Lesson, case: LessonCase) -> Question | str | None:
    """Return the question, or the reason why the sentence does not show what the lesson is about;
    None if the browser has not answered yet."""
    answer: Question | str | None = st.session_state.get(_KEY, {}).get(_case_id(lesson, case))
    return answer


def draw(
    lesson: Lesson,
    case: LessonCase,
    on_question: Callable[[Question | str], object],
    *,
    answered: bool,
) -> None:
    """Draw the picture of the lesson and, if the browser has not made the question yet, request it.

    Args:
        on_question: callback, called with the question, or the reason why there is none.
        answered: whether to show the answer in the picture.
    """
    known = stored(lesson, case) is not None
    key = f"picture-{lesson.name}"

    def receive() -> None:
        reply = st.session_state[key]["choice"]
        if (reply["text"], reply["model"]) != (case.text, case.model.hash):
            return  # about the case that was drawn before
        answer = read_reply(reply)
        st.session_state[_KEY] = st.session_state.get(_KEY, {}) | {_case_id(lesson, case): answer}
        on_question(answer)

    data = case_data(lesson, case, known=known, answered=answered)
    views.component("lesson")(key=key, data=data, on_choice_change=receive)


def case_data(lesson: Lesson, case: LessonCase, **header: Any) -> bytes:
    """Return the trace and what else `unpackCase` of `trace/questions/case.js` reads."""
    trace = case.trace
    compared = [
        text
        for sentence, text in zip(lesson.sentences, lesson.counterparts, strict=False)
        if sentence == case.text
    ]
    layers = range(trace.n_layers)
    names = [site.format(layer) for site in lesson.sites for layer in layers]
    fields = {
        **header,
        "lesson": lesson.name,
        "model": case.model.hash,
        "exact": case.exact,
        "aligner": aligner_fields(case.model.aligner),
        "translations": {text: LessonCase(case.model, text).trace.text for text in compared},
    }
    return answers.case_data(trace, names, fields)


def _case_id(lesson: Lesson, case: LessonCase) -> tuple[str, str, str, bool]:
    return lesson.name, case.model.hash, case.text, case.exact


def read_reply(reply: Mapping[str, Any]) -> Question | str:
    """Return the question that the browser has sent (`trace/questions/case.js`), or the reason
    why there is none."""
    if "question" not in reply:
        return str(reply["missing"])
    question = reply["question"]
    verdicts = question["verdicts"]

    def check(model: Model, view: Any) -> tuple[bool, str]:
        right, explanation = verdicts[view.kind][view.layer][view.head]
        return bool(right), str(explanation)

    return Question(
        answer=str(question["answer"]),
        options=tuple(
            Option(str(option["label"]), str(option["feedback"])) for option in question["options"]
        ),
        correct=int(question["correct"]),
        exhibit=str(question["exhibit"]),
        start_fields=dict(question["startFields"]),
        answer_fields=dict(question["answerFields"]),
        check=check if verdicts else None,
    )
