"""A lesson made ready: the checkpoint and the sentence in which the thing is really there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transformer.ui import models, state
from transformer.ui.about import about
from transformer.ui.address import View
from transformer.ui.kit.remembered import remembered
from transformer.ui.lessons.course import BY_NAME
from transformer.ui.lessons.lesson import Lacks, Lesson, Looked, Question
from transformer.ui.models import Model


@dataclass(frozen=True)
class PreparedLesson:
    """What was found for a lesson.

    Attributes:
        model: the name of the checkpoint, as an address has it; "" if there is none at all.
        text: the sentence.
        question: None where no model here shows it. asked_of: the model that does.
        missing: what the first that was asked lacks, "" if it has all.
    """

    lesson: Lesson
    model: str
    text: str
    question: Question | None
    asked_of: Model | None
    missing: str

    def opened(self, guessed: bool) -> View:
        """What is looked at in it, before or after the guess."""
        return self.lesson.opened(self.model, self.text, self.question, guessed)


@dataclass(frozen=True)
class Shelf:
    """The checkpoints that this visitor may look into, by name; `now` is the one in the address."""

    folders: Mapping[str, Path]
    now: str

    def models(self, reads: str) -> Iterator[Model]:
        """Those that read a lesson's sentences, the one that is looked at first."""
        for name in sorted(self.folders, key=lambda one: one != self.now):
            found = about(self.folders[name])
            if found.kind != reads or not (reads or found.languages):
                continue
            with suppress(OSError, ValueError):  # its own page says what is wrong with it
                yield models.load(name, self.folders[name])

    def written(self, name: str, lesson: Lesson) -> str:
        """A checkpoint's name for an address; a lesson on a task leaves the model as it is."""
        if lesson.reads:
            return self.now
        return "" if name == next(iter(self.folders), "") else name


def shelf() -> Shelf:
    """What this session may ask now."""
    return Shelf(models.checkpoints(), state.view().model)


def prepared(lesson: Lesson, given: Shelf | None = None) -> PreparedLesson:
    """The visitor's own model first, if it can read the sentence; then the others. Of each the
    first sentence that shows it.

    Args:
        given: where there is no session to ask, `shelf` of one.
    """
    there, missing, first = given or shelf(), "", ""
    for model in there.models(lesson.reads):
        first = first or model.name
        text, question, lacks = _asked(model, lesson.name)
        if question is not None:
            named = there.written(model.name, lesson)
            return PreparedLesson(lesson, named, text, question, model, missing)
        missing = missing or lacks
    missing = missing or "there is no model here that reads this"
    named = there.written(first, lesson)
    return PreparedLesson(lesson, named, lesson.sentences[0], None, None, missing)


@remembered()
def _asked(model: Model, name: str) -> tuple[str, Question | None, str]:
    """The lesson's first sentence that shows it, what is asked of it, or what is missing."""
    missing = ""
    for text in BY_NAME[name].sentences:
        try:
            return text, BY_NAME[name].ask(Looked(model, text)), ""
        except Lacks as reason:
            missing = missing or str(reason)
    return BY_NAME[name].sentences[0], None, missing
