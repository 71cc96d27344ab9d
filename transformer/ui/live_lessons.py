"""The lessons of the course that are asked about the model in the browser."""

from __future__ import annotations

from typing import Any

from transformer.ui.widgets.lessons.lesson import Question
from transformer.ui.widgets.lessons.prepared import PreparedLesson

ATTENTION, TRANSLATE, LAB = "pages/attention.py", "pages/translate.py", "pages/lab.py"
LIVE_LESSONS = (
    "umbrella", "row", "steps", "meeting", "back", "rest", "ahead", "crossing", "off", "value",
    "lengths", "norm", "missing", "infinity", "memory", "self", "units",
)  # fmt: skip
"""Those of `browser/questions/questions.js`: their questions are about a sentence. The others are
about formulas, fixed sentences, a reference translation or a model that learned to reverse."""
PANELS = {ATTENTION: "explore", TRANSLATE: "explore", LAB: "heads"}
"""The view of the site that shows the answer, by the lesson's page in the app."""


def lesson_data(ready: PreparedLesson) -> dict[str, Any]:
    """What `browser/live-lesson.js` takes: the lesson, and the question that Python has prepared.

    Args:
        ready: with a question, of a model that runs in the browser.
    """
    lesson, question, model = ready.lesson, ready.question, ready.model
    assert question is not None, "asked of a lesson that is shown"
    assert model is not None, "which a model shows"
    return {
        "name": lesson.name,
        "model": model.name,
        "text": ready.text,
        "texts": list(lesson.sentences),
        "question": question_data(question),
        "fields": view_fields(ready),
        "panel": PANELS.get(lesson.page, ""),
        "find": not question.options,
    }


def question_data(question: Question) -> dict[str, Any]:
    """A question as `browser/questions/case.js` has it."""
    return {
        "answer": question.answer,
        "options": [
            {"label": option.label, "feedback": option.feedback} for option in question.options
        ],
        "correct": question.correct,
        "exhibit": question.exhibit,
        "startFields": dict(question.start_fields),
        "answerFields": dict(question.answer_fields),
    }


def view_fields(ready: PreparedLesson) -> dict[str, Any]:
    """What the view shows for every sentence; the steps of a translation stand under Decoding."""
    if ready.lesson.page == TRANSLATE:
        return {"view": "decoding"}
    return dict(ready.lesson.view) if ready.lesson.page == ATTENTION else {}
