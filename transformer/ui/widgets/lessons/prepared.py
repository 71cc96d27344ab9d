"""Choose the checkpoint and the sentence that show a lesson's phenomenon; build its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transformer.ui.base import state
from transformer.ui.base.address import View
from transformer.ui.base.model_description import describe_model
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets.lessons.course import BY_NAME
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase, LessonUnavailable, Question


@dataclass(frozen=True)
class PreparedLesson:
    """A lesson with its question.

    Attributes:
        model_name: the checkpoint's name in the address; "" if there is no checkpoint.
        text: the sentence.
        question: None if no model shows the phenomenon. model: the one that does.
        reason: why the first model that was tried does not show it; "" if it does.
    """

    lesson: Lesson
    model_name: str
    text: str
    question: Question | None
    model: Model | None
    reason: str

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
        text, question, reason = _question(model, lesson.name, visitor_models.exact)
        if question is not None:
            name = visitor_models.address_name(model.name, lesson)
            return PreparedLesson(lesson, name, text, question, model, first_reason)
        first_reason = first_reason or reason
    first_reason = first_reason or "no available model can read such a text"
    name = visitor_models.address_name(first, lesson)
    return PreparedLesson(lesson, name, lesson.sentences[0], None, None, first_reason)


@cached()
def _question(model: Model, name: str, exact: bool) -> tuple[str, Question | None, str]:
    """Return the first sentence that shows the phenomenon, its question, or the reason why none
    does."""
    first_reason = ""
    for text in BY_NAME[name].sentences:
        try:
            return text, BY_NAME[name].build(LessonCase(model, text, exact)), ""
        except LessonUnavailable as reason:
            first_reason = first_reason or str(reason)
    return BY_NAME[name].sentences[0], None, first_reason
