"""Lessons of the static site whose questions are about the model in the browser."""

from __future__ import annotations

import base64
from typing import Any

from transformer.ui.services.models import Model
from transformer.ui.widgets.lessons.browser_questions import case_data
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase


def lesson_data(lesson: Lesson, model: Model) -> dict[str, Any]:
    """Return the input of `app/learn/live-lesson.js`: the lesson, and its first sentence packed, so
    that the question can be asked before the model has loaded."""
    case = case_data(lesson, LessonCase(model, lesson.sentences[0]))
    return {
        "name": lesson.name,
        "model": model.name,
        "case": base64.b64encode(case).decode(),
        "texts": list(lesson.sentences),
        "fields": {"view": "decoding"} if lesson.depth == "steps" else dict(lesson.view),
        "find": lesson.in_place,
    }
