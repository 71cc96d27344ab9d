"""Lessons of the static site: their questions, and what the page needs to ask about its model."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from transformer.api import answers
from transformer.api.lesson_questions import lesson_case
from transformer.api.models import Model
from transformer.figures.packed_trace import aligner_fields
from transformer.lessons.lesson import Lesson, LessonUnavailable, Question
from transformer.measures.registry import SITES

OTHER_OWNER = {" her ": " his ", " his ": " her "}
"""What one of the questions replaces in its sentence, to compare the translations."""


@dataclass(frozen=True)
class PreparedLesson:
    """A lesson with the first model and sentence that show what it is about."""

    lesson: Lesson
    model: Model
    text: str
    question: Question

    def fields(self, *, answered: bool) -> dict[str, Any]:
        """Return the fields of the lesson's page before or after its answer may be seen."""
        start = {**self.lesson.fields, **self.question.start_fields}
        return {**start, **self.question.answer_fields} if answered else start


def fits(model: Model, task: str) -> bool:
    """Return whether a model reads the sentences of lessons with this task, "" for English."""
    description = model.description
    return description.kind == task and bool(task or description.languages)


def prepared(lesson: Lesson, models: Sequence[Model]) -> PreparedLesson | None:
    """Return the question that Python makes, or None if no model shows what the lesson is about."""
    for model in models:
        if fits(model, lesson.task):
            with suppress(LessonUnavailable):
                text, question = lesson.question_of(
                    lambda text, model=model: lesson_case("", model, text)  # type: ignore[misc]
                )
                return PreparedLesson(lesson, model, text, question)
    return None


def packed_case(lesson: Lesson, model: Model, text: str, *, exact: bool = False) -> bytes:
    """Return the trace of a sentence and what else `unpackCase` of `trace/questions/case.js` reads,
    for a question that the browser makes."""
    case = lesson_case("", model, text)
    compared = [text.replace(a, b) for a, b in OTHER_OWNER.items() if a in text]
    scores = [f"{SITES['cross'].format(n)}hook_scores" for n in range(case.trace.n_layers)]
    fields = {
        "lesson": lesson.name,
        "exact": exact,
        "aligner": aligner_fields(model.aligner),
        "translations": {other: case.trace_of(other).text for other in compared},
    }
    return answers.case_data(case.trace, scores, fields)


def lesson_data(lesson: Lesson, model: Model) -> dict[str, Any]:
    """Return the input of `app/learn/live-lesson.js`: the lesson, and its first sentence packed, so
    that the question can be asked before the model has loaded."""
    case = packed_case(lesson, model, lesson.sentences[0])
    is_steps = lesson.depth == "steps"
    fields = {name: value for name, value in lesson.fields.items() if name != "depth"}
    return {
        "name": lesson.name,
        "model": model.name,
        "case": base64.b64encode(case).decode(),
        "texts": list(lesson.sentences),
        "fields": {"view": "decoding"} if is_steps else fields,
        "find": lesson.in_place,
    }
