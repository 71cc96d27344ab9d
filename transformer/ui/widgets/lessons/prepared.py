"""Choose the checkpoint and the sentence that show a lesson's phenomenon, and its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transformer.api.model_description import describe_model
from transformer.ui.base import state
from transformer.ui.base.address import View
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets.lessons import browser_questions
from transformer.ui.widgets.lessons.course import BY_NAME
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase, LessonUnavailable, Question


@dataclass(frozen=True)
class PreparedLesson:
    """A lesson with its question.

    Attributes:
        model_name: the checkpoint's name in the address; "" if there is no checkpoint.
        text: the sentence.
        question: None if no model shows the phenomenon, or the browser has not made it yet.
        model: the one that shows the phenomenon, if any does.
        reason: why the first model that was tried does not show it; "" if it does.
        browser_case: the sentence about which the browser makes the question; None for a question
            that Python makes.
    """

    lesson: Lesson
    model_name: str
    text: str
    question: Question | None
    model: Model | None
    reason: str
    browser_case: LessonCase | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the browser has not made the question yet."""
        return self.question is None and self.browser_case is not None

    def view_for(self, answered: bool) -> View:
        """Return the view of the lesson before or after its answer may be seen."""
        return self.lesson.view_for(self.model_name, self.text, self.question, answered)


@dataclass(frozen=True)
class AvailableModels:
    """The checkpoints that this visitor may use.

    Attributes:
        folders: by name. current: the name in the address, "" for the default one.
        exact: whether lessons name tokens, layers and heads as the model does.
        shipped: the folder of the runs that come with the app. A lesson about a training task
            prefers these: a visitor's own run may have learned something else.
    """

    folders: Mapping[str, Path]
    current: str
    exact: bool = False
    shipped: Path | None = None

    def models(self, task: str) -> Iterator[Model]:
        """Return those that fit a lesson, the preferred one first."""
        for name in sorted(self.folders, key=lambda name: self._preference(name, task)):
            description = describe_model(self.folders[name])
            if description.kind != task or not (task or description.languages):
                continue
            with suppress(OSError, ValueError):  # the checkpoint's own page shows the error
                yield models.load(name, self.folders[name])

    def address_name(self, name: str, lesson: Lesson) -> str:
        """Return a checkpoint's name for the address; a lesson about a task keeps the current
        model."""
        if lesson.task:
            return self.current
        return "" if name == next(iter(self.folders), "") else name

    def _preference(self, name: str, task: str) -> bool:
        if task and self.shipped is not None:
            return self.shipped not in self.folders[name].parents
        return name != self.current


def available_models() -> AvailableModels:
    """Return the models that this session may use."""
    view = state.view()
    return AvailableModels(
        models.checkpoints(), view.model, bool(view.exact), models.shipped_folder()
    )


def prepared(lesson: Lesson, available: AvailableModels | None = None) -> PreparedLesson:
    """Prepare a lesson with the first model that shows its phenomenon on one of its sentences.

    Args:
        available: `available_models` by default, which needs a session.
    """
    visitor_models = available or available_models()
    first_reason, first = "", ""
    for model in visitor_models.models(lesson.task):
        first = first or model.name
        case, question, reason = _question(model, lesson, visitor_models.exact)
        if not reason:
            name = visitor_models.address_name(model.name, lesson)
            browser_case = None if lesson.build else case
            return PreparedLesson(
                lesson, name, case.text, question, model, first_reason, browser_case
            )
        first_reason = first_reason or reason
    first_reason = first_reason or "no available model can read such a text"
    name = visitor_models.address_name(first, lesson)
    return PreparedLesson(lesson, name, lesson.sentences[0], None, None, first_reason)


def _question(model: Model, lesson: Lesson, exact: bool) -> tuple[LessonCase, Question | None, str]:
    """Return the first sentence that shows the phenomenon or may show it, its question if it is
    known, and, if no sentence does, the reason."""
    first_reason = ""
    for text in lesson.sentences:
        case = LessonCase(model, text, exact)
        if lesson.build:
            answer: Question | str | None = _python_question(model, lesson.name, text, exact)
        else:
            answer = browser_questions.stored(lesson, case)
        if not isinstance(answer, str):
            return case, answer, ""
        first_reason = first_reason or answer
    return LessonCase(model, lesson.sentences[0], exact), None, first_reason


@cached()
def _python_question(model: Model, name: str, text: str, exact: bool) -> Question | str:
    """Return the question, or the reason why the sentence does not show the phenomenon."""
    build = BY_NAME[name].build
    assert build is not None, "the browser makes the other questions"
    try:
        return build(LessonCase(model, text, exact))
    except LessonUnavailable as reason:
        return str(reason)
