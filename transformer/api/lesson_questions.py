"""The lessons and the questions about a loaded model that Python makes, for the client."""

from __future__ import annotations

from functools import cache
from typing import Any

from transformer.api.answers import cached
from transformer.api.models import Model
from transformer.api.requests import QuestionRequest
from transformer.api.traces import cached_trace
from transformer.inference import Trace
from transformer.lessons import course
from transformer.lessons.lesson import LessonCase, LessonUnavailable
from transformer.text.door import quoted


@cache
def course_data() -> dict[str, Any]:
    """Return what the client knows of all lessons, and the name of the last page of the course."""
    return {"lessons": [lesson.to_dict() for lesson in course.LESSONS], "end": course.END}


def lesson_case(visitor: str, model: Model, text: str, *, exact: bool = False) -> LessonCase:
    """Return the model with one sentence, whose traces come from the cache."""

    def trace_of(text: str) -> Trace:
        names = model.translator.model.hook_names
        return cached_trace(visitor, model, text, {"method": "greedy"}, names).trace

    return LessonCase(
        model.translator,
        text,
        trace_of,
        model.aligner,
        model.name,
        model.description.translation(text),
        exact,
    )


def question(visitor: str, model: Model, request: QuestionRequest) -> dict[str, Any]:
    """Return the first sentence that shows what the lesson is about and the question, or the reason
    why none does (`missing`)."""
    lesson = course.BY_NAME.get(request.lesson)
    if lesson is None or lesson.build is None:
        names = ", ".join(each.name for each in course.LESSONS if each.build)
        raise ValueError(f"There is no question {quoted(request.lesson)}; there is {names}.")

    def make() -> dict[str, Any]:
        try:
            text, made = lesson.question_of(
                lambda text: lesson_case(visitor, model, text, exact=request.exact)
            )
        except LessonUnavailable as reason:
            return {"missing": str(reason)}
        return {"text": text, "question": made.to_dict()}

    return cached(visitor, ("question", model.hash, model.name, lesson.name, request.exact), make)
