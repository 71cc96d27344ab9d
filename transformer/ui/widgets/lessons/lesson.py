"""The data types of a lesson: a question that a visitor answers before seeing the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from transformer.api.model_description import EXAMPLE
from transformer.inference import Trace
from transformer.measures import naming
from transformer.ui.base.address import View
from transformer.ui.base.registry import PAGES
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace

LIST_PAGE = "pages/learn.py"
"""The page of the list; it asks every question whose own page would reveal the answer."""


class LessonUnavailable(Exception):
    """The model does not show the lesson's phenomenon on this sentence; the message says why."""


@dataclass(frozen=True)
class LessonCase:
    """A model and one sentence of a lesson.

    Attributes:
        exact: whether to name tokens, layers and heads as the model does (`measures.naming`).
    """

    model: Model
    text: str
    exact: bool = False

    @cached_property
    def trace(self) -> Trace:
        """The model's greedy translation of the sentence, with all activations."""

        def read() -> CachedTrace:
            return CachedTrace(self.model.translator.trace(self.text, method="greedy"))

        return trace_cache.get_or_make(("lesson", self.model.hash, self.text), read).trace

    def names(self, tokens: Sequence[str]) -> list[str]:
        return naming.token_names(tokens, self.exact)

    def tokens(self, tokens: Sequence[str]) -> str:
        """Return Markdown for some tokens of a sentence, each as code."""
        return code(self.names(tokens))

    def token(self, tokens: Sequence[str], position: int) -> str:
        """Return Markdown for one of a sentence's tokens, named as `tokens` names it."""
        return code([self.names(tokens)[position]])

    def head_name(self, layer: int, head: int) -> str:
        return naming.head_name(layer, head)


@dataclass(frozen=True)
class Option:
    """One of the possible answers; `feedback` explains why a wrong one is wrong."""

    label: str
    feedback: str = ""


@dataclass(frozen=True)
class Question:
    """A lesson's question for one model and one sentence. All texts are Markdown.

    Attributes:
        answer: the explanation shown after a guess.
        options: two to four, in the order in which they are shown; none if the visitor has to
            find something on the page. correct: the index of the right one.
        exhibit: what the question refers to, such as a translation or a row of scores.
        picture: `table_picture` above the question.
        start_fields: fields of the page while the question is open; answer_fields: the fields
            that show the answer.
        check: for something to find on the page: takes the model and the page's view, returns
            whether the view shows it, and an explanation. It must not keep a model alive.
    """

    answer: str
    options: tuple[Option, ...] = ()
    correct: int = 0
    exhibit: str = ""
    picture: Mapping[str, Any] | None = None
    start_fields: Mapping[str, Any] = field(default_factory=dict)
    answer_fields: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Model, Any], tuple[bool, str]] | None = None


@dataclass(frozen=True)
class Lesson:
    """One step of the course.

    Attributes:
        name: the step's name in addresses; it never changes.
        picture: of the list, as `figures.lesson_thumbnail` reads it; of the lesson's sentence and
            en-fr if the question is about attention.
        part: the part of the course; minutes: how long the step takes.
        page: the file of the page that shows the answer; `depth`: of the page Try; `view`: its
            fields that differ from their defaults.
        text, question: Markdown.
        takeaway: one sentence for the summary at the end.
        build: makes the question. Raises LessonUnavailable if the case does not show it. None if
            `client/trace/questions/` makes it, since it is about a picture drawn from the trace.
        sites: names of tensors that it needs besides the weights, with `{}` for the layer.
        counterparts: for each sentence one whose translation it compares.
        section: of the paper.
        sentences: tried in this order; the first that shows the phenomenon is used.
        task: "" for models that translate from English, else the training task whose models are
            used.
        misprint: a line of Markdown with a mistake that the visitor has to find.
        in_place: whether the question is asked on its own page, which does not reveal the answer.
        extra: whether the step is one of the extra lessons.
    """

    name: str
    title: str
    picture: str
    part: str
    minutes: float
    page: str
    text: str
    question: str
    takeaway: str
    build: Callable[[LessonCase], Question] | None = None
    sites: tuple[str, ...] = ()
    counterparts: tuple[str, ...] = ()
    section: str = ""
    depth: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = (EXAMPLE,)
    task: str = ""
    misprint: str = ""
    in_place: bool = False
    extra: bool = False

    @property
    def question_page(self) -> str:
        """The file of the page that asks the question."""
        return self.page if self.in_place else LIST_PAGE

    def view_for(self, model: str, text: str, question: Question | None, answered: bool) -> View:
        """Return the view of the lesson before or after its answer may be seen.

        Args:
            model: the checkpoint's name in the address; "" is the default checkpoint.
            text: the sentence; question: built on it, None if no model shows the phenomenon.
        """
        shared: dict[str, Any] = {"lesson": self.name, "model": model}
        if not answered and not self.in_place:
            return PAGES[LIST_PAGE].view(**shared)
        depth = {"depth": self.depth} if self.depth else {}
        fields = depth | dict(self.view) | dict(question.start_fields if question else {})
        if answered and question:
            fields |= question.answer_fields
        if not self.task:
            shared["text"] = text
        return PAGES[self.page].view(**{**shared, **fields})


def table_picture(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    numbers: Float[np.ndarray, "rows columns"],
    hidden: Sequence[Any] | Bool[np.ndarray, "rows columns"],
    rows_before: int | None = None,
) -> dict[str, Any]:
    """Return a picture for `client/app/learn/lesson-picture.js`: the darker a cell, the greater the
    absolute value of its number. `hidden` cells, broadcast to all rows or columns, are drawn as "?"
    until the question is answered, and only the first `rows_before` rows are drawn."""
    sizes = np.abs(numbers)
    return {
        "caption": caption,
        "rows": list(rows),
        "columns": list(columns),
        "weights": (sizes / max(float(sizes.max()), 1e-12)).round(3).tolist(),
        "hidden": np.argwhere(np.broadcast_to(hidden, sizes.shape)).tolist(),
        "marked": [],
        "rowsBefore": len(rows) if rows_before is None else rows_before,
    }


def code(names: Sequence[str]) -> str:
    """Return Markdown that shows each name as code."""
    return " ".join(f"`{name.replace('`', 'ˋ')}`" for name in names)


def bold(text: str) -> str:
    """Return Markdown that shows a word of a sentence in bold."""
    return f"**{escaped(text)}**"


def escaped(text: str) -> str:
    """Return Markdown that shows `text` literally."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|$~:" else sign for sign in text)


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def rounded_percent(share: float) -> str:
    """Format a share in whole percent, easy to guess; never "100%" for less than all."""
    return "more than 99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"
