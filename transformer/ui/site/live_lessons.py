"""Lessons of the static site whose questions are about the model in the browser."""

from __future__ import annotations

from typing import Any

from transformer.ui.widgets.lessons.lesson import Question
from transformer.ui.widgets.lessons.prepared import PreparedLesson

LIVE_LESSONS = (
    "umbrella", "row", "steps", "meeting", "back", "rest", "ahead", "crossing", "off", "value",
    "lengths", "norm", "missing", "infinity", "memory", "self", "units",
)  # fmt: skip
"""The lessons in `browser/questions/questions.js`, whose questions are about a sentence. The others
are about formulas, fixed sentences, a reference translation or a model that learned to reverse."""
PANELS = {"heads": "explore", "steps": "explore", "off": "heads"}
"""The view of the site that shows the answer, by the lesson's depth in the app."""


def lesson_data(prepared_lesson: PreparedLesson) -> dict[str, Any]:
    """Return the input of `browser/live-lesson.js`: the lesson and its prepared question.

    Args:
        prepared_lesson: a lesson with a question about a model that runs in the browser.
    """
    lesson, question, model = (
        prepared_lesson.lesson,
        prepared_lesson.question,
        prepared_lesson.model,
    )
    assert question is not None, "the lesson needs a question"
    assert model is not None, "a question has a model"
    return {
        "name": lesson.name,
        "model": model.name,
        "text": prepared_lesson.text,
        "texts": list(lesson.sentences),
        "question": question_data(question),
        "fields": view_fields(prepared_lesson),
        "panel": PANELS.get(lesson.depth, ""),
        "find": not question.options,
    }


def question_data(question: Question) -> dict[str, Any]:
    """Return a question in the format of `browser/questions/case.js`."""
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


def view_fields(prepared_lesson: PreparedLesson) -> dict[str, Any]:
    """Return the view's fields for any sentence; translation steps are in the view Decoding."""
    if prepared_lesson.lesson.depth == "steps":
        return {"view": "decoding"}
    return dict(prepared_lesson.lesson.view) if prepared_lesson.lesson.depth == "heads" else {}
