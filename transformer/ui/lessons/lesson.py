"""What a lesson is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from transformer.inference import Trace
from transformer.model import Transformer
from transformer.ui import readings
from transformer.ui.about import About
from transformer.ui.address import View
from transformer.ui.models import Model
from transformer.ui.pages import PAGES

Answer = Callable[[Model | None, View], str]
"""Markdown, worked out for the model and the lesson's own view whenever somebody asks."""


@dataclass(frozen=True)
class Lesson:
    """A prepared view with two or three sentences and a question that it answers.

    Attributes:
        section: of the paper, where it says so.
        page: the file of the page that shows it; `view` is what differs from a first visit.
        text, question: Markdown.
        answer: see `Answer`; also what to look at for it.
        translated: whether a right translation of its sentence is the view's target.
        misprint: a line of Markdown as notes sometimes have it: the question is what is wrong with
            it.
    """

    title: str
    section: str
    page: str
    text: str
    question: str
    answer: Answer
    view: Mapping[str, Any] = field(default_factory=dict)
    misprint: str = ""
    translated: bool = False

    def opened(self, number: int, model: str = "", about: About | None = None) -> View:
        """What is looked at in it.

        Args:
            number: its place in the course, from 1.
            model: that the visitor looks at, which the lesson keeps; "" is the first there is.
            about: what that model reads and writes.
        """
        view = PAGES[self.page].view(lesson=number, model=model, **self.view)
        if self.translated and about is not None:
            view = replace(view, target=about.translation(view.text))
        return view


def fixed(text: str) -> Answer:
    """An answer that is the same for every model."""
    return lambda model, view: text


def looked(find: Callable[[Transformer, Trace], str]) -> Answer:
    """An answer that takes the model and what it makes of the lesson's sentence."""

    def answer(model: Model | None, view: View) -> str:
        if model is None:
            return "There is no model here to look into: open the lesson's own view."
        trace = readings.whole(model, readings.read(model, view))
        return find(model.translator.model, trace)

    return answer


def found(find: Callable[[Trace], str]) -> Answer:
    """An answer that stands in what the model makes of the lesson's sentence."""
    return looked(lambda model, trace: find(trace))
