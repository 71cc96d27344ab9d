"""The data types of a lesson: a question that a visitor answers before seeing the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.inference import Trace, Translator
from transformer.measures import naming
from transformer.text.sentences import EXAMPLE

TRY, INSIDE, TRAIN, LEARN = "", "inside", "train", "learn"
"""Paths of pages. Learn asks every question whose own page would reveal the answer."""


class LessonUnavailable(Exception):
    """The model does not show the lesson's phenomenon on this sentence; the message says why."""


@dataclass(frozen=True)
class LessonCase:
    """A model and one sentence of a lesson.

    Attributes:
        trace_of: returns the model's greedy translation of a text, with all activations.
        aligner: the model's measured aligner head. model_name: its name in addresses.
        reference: a reference translation of the sentence, "" if there is none.
        exact: whether to name tokens as the model does (`measures.naming`).
    """

    translator: Translator
    text: str
    trace_of: Callable[[str], Trace]
    aligner: AlignerHead | None = None
    model_name: str = ""
    reference: str = ""
    exact: bool = False

    @cached_property
    def trace(self) -> Trace:
        return self.trace_of(self.text)

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
        unchanged: the translation that the visitor has to change on the page, as plain text.
    """

    answer: str
    options: tuple[Option, ...] = ()
    correct: int = 0
    exhibit: str = ""
    picture: Mapping[str, Any] | None = None
    start_fields: Mapping[str, Any] = field(default_factory=dict)
    answer_fields: Mapping[str, Any] = field(default_factory=dict)
    unchanged: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the question as `client/trace/questions/case.js` describes it."""
        return {
            "answer": self.answer,
            "options": [asdict(option) for option in self.options],
            "correct": self.correct,
            "exhibit": self.exhibit,
            "picture": self.picture,
            "startFields": dict(self.start_fields),
            "answerFields": dict(self.answer_fields),
            "verdicts": None,
            "unchanged": self.unchanged,
        }


@dataclass(frozen=True)
class Lesson:
    """One step of the course.

    Attributes:
        name: the step's name in addresses; it never changes.
        picture: of the list, as `figures.lesson_thumbnail` reads it; of the lesson's sentence and
            en-fr if the question is about attention.
        part: the part of the course; minutes: how long the step takes.
        page: the path of the page that shows the answer; `fields`: of its address, where they
            differ from the defaults.
        text, question: Markdown.
        takeaway: one sentence for the summary at the end.
        build: makes the question. Raises LessonUnavailable if the case does not show it. None if
            `client/trace/questions/` makes it, since it is about a picture drawn from the trace.
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
    section: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = (EXAMPLE,)
    task: str = ""
    misprint: str = ""
    in_place: bool = False
    extra: bool = False

    @property
    def depth(self) -> str:
        """The depth of the page Try; "" for other pages."""
        return str(self.fields.get("depth", ""))

    @property
    def takes_sentence(self) -> bool:
        """Whether the question can be about any sentence: every engine of the client makes it."""
        return self.build is None

    @property
    def question_page(self) -> str:
        """The path of the page that asks the question."""
        return self.page if self.in_place else LEARN

    def to_dict(self) -> dict[str, Any]:
        """Return what the client knows of the lesson."""
        names = (
            *("name", "title", "picture", "part", "minutes", "page", "text", "question"),
            *("takeaway", "section", "fields", "sentences", "task", "misprint", "in_place"),
            *("extra", "takes_sentence"),
        )
        return {name: getattr(self, name) for name in names}

    def question_of(self, make_case: Callable[[str], LessonCase]) -> tuple[str, Question]:
        """Return the first sentence that shows the phenomenon, and the question about it.

        Raises:
            LessonUnavailable: if none does; the message says why the first one does not.
        """
        if self.build is None:
            raise ValueError(f"The client makes the question of the lesson {self.name!r}.")
        reasons = []
        for text in self.sentences:
            try:
                return text, self.build(make_case(text))
            except LessonUnavailable as reason:
                reasons.append(reason)
        raise reasons[0]


def table_picture(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    numbers: Float[np.ndarray, "rows columns"],
    hidden: Sequence[Any] | Bool[np.ndarray, "rows columns"],
    marked: Sequence[tuple[int, int, str]] = (),
    rows_before: int | None = None,
) -> dict[str, Any]:
    """Return a picture for `client/app/learn/lesson-picture.js`: the darker a cell, the greater the
    absolute value of its number. `hidden` cells, broadcast to all rows or columns, are drawn as "?"
    until the question is answered, and only the first `rows_before` rows are drawn. Then the
    `marked` cells, by row and column, have a frame and the numbers that the answer names."""
    sizes = np.abs(numbers)
    return {
        "caption": caption,
        "rows": list(rows),
        "columns": list(columns),
        "weights": (sizes / max(float(sizes.max()), 1e-12)).round(3).tolist(),
        "hidden": np.argwhere(np.broadcast_to(hidden, sizes.shape)).tolist(),
        "marked": [list(cell) for cell in marked],
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
    """Format a share with two significant digits, as `percentText` of `client/common/numbers.js`:
    100% or 0% only if it is exact."""
    if share in (0, 1):
        return f"{100 * share:.0f}%"
    if share >= 0.9995:
        return "> 99.9%"
    if share < 0.0001:
        return "< 0.01%"
    return f"{100 * share:.2f}%" if share < 0.001 else f"{100 * share:.1f}%"


def signed(number: float) -> str:
    """Format a number with two decimals and a typographic minus."""
    return f"{number:.2f}".replace("-", "−")
