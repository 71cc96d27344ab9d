"""The course of the static site: its lessons, and the questions that Python makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformer.api import lesson_questions
from transformer.api.models import Model
from transformer.api.requests import QuestionRequest
from transformer.lessons import course
from transformer.lessons.lesson import Lesson


def reads_english(model: Model) -> bool:
    """Return whether a model translates from English."""
    return _fits(model, "")


def site_course(available: Sequence[Model], models_here: Sequence[Model]) -> dict[str, Any]:
    """Return the content of lessons.json, which `client/engine/worker.js` reads: the lessons, the
    name of the last page of the course, and the questions that the browser does not make, by lesson
    and model.

    Args:
        available: models that can answer the question of a training task.
        models_here: the models that run in the browser.
    """
    questions = {
        lesson.name: _questions(lesson, available if lesson.task else models_here)
        for lesson in course.LESSONS
        if lesson.build is not None
    }
    lessons = [
        {**lesson.to_dict(), "models": _other_models(lesson, available)}
        for lesson in course.LESSONS
    ]
    return {"lessons": lessons, "end": course.END, "questions": questions}


def _fits(model: Model, task: str) -> bool:
    """Return whether a model reads the sentences of lessons with this task, "" for English."""
    description = model.description
    return description.kind == task and bool(task or description.languages)


def _other_models(lesson: Lesson, available: Sequence[Model]) -> dict[str, str]:
    """Return names and labels of models of the lesson that do not run in the browser."""
    models = [model for model in available if lesson.task and _fits(model, lesson.task)]
    return {model.name: model.name for model in models}


def _questions(lesson: Lesson, models: Sequence[Model]) -> dict[str, dict[str, Any]]:
    """Return the question of a lesson about each model, or the reason why there is none."""
    return {
        model.name: lesson_questions.question(
            "", model, QuestionRequest(model=model.name, lesson=lesson.name)
        )
        for model in models
        if _fits(model, lesson.task)
    }
