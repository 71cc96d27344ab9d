"""What a lesson is: a question that is asked before it is answered, worked out on a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.figures.lesson_sheet import Picture
from transformer.figures.words import merge, plain_words
from transformer.inference import Trace
from transformer.ui import trace_cache
from transformer.ui.address import EXAMPLE, View
from transformer.ui.models import Model
from transformer.ui.pages import PAGES
from transformer.ui.trace_cache import Reading

LIST = "pages/lessons.py"
"""Where a lesson is asked whose own page would give the answer away."""


class Lacks(Exception):
    """This model does not show it on this sentence; the message says what is missing."""


@dataclass(frozen=True)
class Looked:
    """A model and one of a lesson's sentences."""

    model: Model
    text: str

    @cached_property
    def trace(self) -> Trace:
        """What the model makes of it, every site of it. Raises Lacks if it never ends."""

        def read() -> Reading:
            return Reading(self.model.translator.trace(self.text, method="greedy"))

        found = trace_cache.kept(("lesson", self.model.hash, self.text), read).trace
        if found.predicted_tokens[-1:] != ("</s>",):
            raise Lacks("its translation does not come to an end")
        return found

    @cached_property
    def said(self) -> Said:
        return Said(self.trace)


@dataclass(frozen=True)
class Option:
    """One of the answers to choose from; `why_not` is said to whoever takes a wrong one."""

    label: str
    why_not: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked of one model and one sentence; all of it Markdown.

    Attributes:
        options: two to four, in the order in which they are shown; none where something is to be
            found on the page. right: the one that holds, by its place.
        answer: what is said of it once somebody has guessed, worked out.
        exhibit: what there is to go by.
        opened: fields of the page from the beginning; seen: those that show the answer.
        picture: for the printed sheet.
        found: for what is to be found on the page: whether the view has it, of this model, and why
            (not). It keeps no model: that is given anew.
    """

    answer: str
    options: tuple[Option, ...] = ()
    right: int = 0
    exhibit: str = ""
    opened: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)
    picture: Picture | None = None
    found: Callable[[Model, Any], tuple[bool, str]] | None = None


@dataclass(frozen=True)
class Lesson:
    """One step of the course.

    Attributes:
        name: by which addresses know it; it never changes.
        part: of the course; minutes: that it takes.
        page: the file of the page that shows the answer; `view` is what differs from a first visit.
        text, question: Markdown.
        learnt: what stays, a sentence for the end.
        ask: works the question out. Raises Lacks where there is nothing to be seen.
        section: of the paper, where it says so.
        sentences: of which the first is taken that has it. reads: "" for sentences in English, or
            the task whose models are asked.
        misprint: a line of Markdown as notes sometimes have it: the question is what is wrong.
        in_place: it is asked on its own page, which does not give the answer away.
        more: it is not among those that everybody walks through.
        exact: it needs pieces and their signs rather than whole words.
    """

    name: str
    title: str
    part: str
    minutes: float
    page: str
    text: str
    question: str
    learnt: str
    ask: Callable[[Looked], Question]
    section: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = (EXAMPLE,)
    reads: str = ""
    misprint: str = ""
    in_place: bool = False
    more: bool = False
    exact: bool = False

    @property
    def asked_on(self) -> str:
        """The page where it is asked."""
        return self.page if self.in_place else LIST

    def opened(self, model: str, text: str, question: Question | None, guessed: bool) -> View:
        """What is looked at in it, on its own page or where it is asked.

        Args:
            model: whose name the address has; "" is the first there is.
            text: the sentence; question: as worked out on it.
            guessed: whether the answer may be seen.
        """
        shared: dict[str, Any] = {"lesson": self.name, "model": model}
        if not guessed and not self.in_place:
            return PAGES[LIST].view(**shared)
        fields = dict(self.view) | dict(question.opened if question else {})
        if guessed and question:
            fields |= question.seen
        if not self.reads:
            shared["text"] = text
        if self.exact:
            shared["exact"] = 1
        return PAGES[self.page].view(**{**shared, **fields})


class Said:
    """The words of a trace, and the attention between them; what is no word is left out.

    Attributes:
        source, target: the words read and written, without signs.
        trace: which it is of.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._source, source = plain_words(trace.src_tokens)
        self._target, target = plain_words(trace.predicted_tokens)
        self._spoken_source = [n for n, label in enumerate(source) if label]
        self._spoken_target = [n for n, label in enumerate(target) if label]
        self.source = [source[n] for n in self._spoken_source]
        self.target = [target[n] for n in self._spoken_target]

    @cached_property
    def cross(self) -> Float[np.ndarray, "layers heads target source"]:
        """Where every head of the encoder–decoder attention looks as each word is written."""
        layers = [self.trace.weights("cross", i) for i in range(self.trace.n_layers)]
        merged = merge(np.stack(layers).astype(np.float64), self._target, self._source)
        found: npt.NDArray[np.float64] = merged[..., self._spoken_target, :]
        return found[..., self._spoken_source]

    def written_at(self, word: int) -> int:
        """The row of the cross-attention in which this word of the target begins."""
        return self._target.index(self._spoken_target[word])

    def rows(self, word: int) -> str:
        """The rows of all its pieces, as the explorer pins them."""
        number = self._spoken_target[word]
        return ",".join(f"q{at}" for at, one in enumerate(self._target) if one == number)


def pieces(tokens: Sequence[str]) -> str:
    """As code, so that Markdown leaves them as they are."""
    return " ".join(f"`{token.replace('`', 'ˋ')}`" for token in tokens)


def word(text: str) -> str:
    """A word of a sentence, bold; what Markdown would read otherwise is left as it is written."""
    return f"**{escaped(text)}**"


def escaped(text: str) -> str:
    """`text` so that Markdown shows it as it stands."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|$~:" else sign for sign in text)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def about(share: float) -> str:
    """A share that somebody may guess, in whole percent; never all of what is not quite that."""
    return "more than 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"
