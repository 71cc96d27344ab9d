"""The list of pages in the order of the navigation bar: file, title, view and description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from transformer.ui.address import View
from transformer.ui.pages.classroom import Class
from transformer.ui.pages.home import DEPTHS, Home
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.research import Research
from transformer.ui.pages.training import Train

Values = dict[str, dict[str, Any]]
"""Values of fields, by the name of the view class that declares them."""
ViewType = TypeVar("ViewType", bound=View)


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        title: in the navigation bar; heading: above the page, if it differs.
        view: the class of its view, with its own fields if it has any.
        link_text, summary: link and description on the home page, in Markdown; "{lessons}" is
            replaced by the number of lessons.
    """

    title: str
    view: type[View] = View
    link_text: str = ""
    summary: str = ""
    heading: str = ""


HOME, CLASS = "app.py", "pages/class.py"
PAGES = {
    HOME: Page(
        "Try",
        Home,
        heading="Type a sentence and see which words the model attends to as it translates",
    ),
    "pages/learn.py": Page(
        "Learn",
        link_text="**Learn**: a way through the paper, step by step →",
        summary="{lessons} prepared views, each with a question that it answers. New here? Begin "
        "with these.",
    ),
    "pages/inside.py": Page(
        "Look inside",
        Inside,
        "**Look inside**: the paper's Figure 1, box by box →",
        "Every number on a sentence's way through the model; how word order enters it; why the "
        "paper uses self-attention.",
    ),
    "pages/train.py": Page(
        "Train",
        Train,
        "**Train** a model, and watch attention form →",
        "A small model learns to reverse, to sort or to write simple French, in seconds.",
    ),
    CLASS: Page("Class", Class, heading="Classroom"),
    "pages/research.py": Page(
        "Research",
        Research,
        link_text="**Research**: is attention an explanation? →",
        summary="Experiments that attribute, patch and measure heads; published claims, tested.",
    ),
    "pages/glossary.py": Page("Glossary"),
}


def path(file: str) -> str:
    """Return the path of this page in its URL."""
    return "" if file == HOME else file.removeprefix("pages/").removesuffix(".py")


BY_PATH = {path(file): file for file in PAGES}
"""Files of the pages by path."""


def page_name(file: str, depth: str = "") -> str:
    """Return the name of a page in messages: its title, or the label of the depth of Try if that
    is not the first."""
    return DEPTHS[depth] if file == HOME and depth in [*DEPTHS][1:] else PAGES[file].title


def parse_params(file: str, params: Mapping[str, str]) -> tuple[Values, list[str]]:
    """Parse the parameters of an address; return the values and one sentence for each problem."""
    view_type = PAGES[file].view
    values: Values = {View.__name__: {}, view_type.__name__: {}}
    problems: list[str] = []
    for name, text in params.items():
        field = view_type.fields().get(name)
        if field is None or not field.linked:
            problems.append(f'The address has the field "{name}", which this page does not have.')
            continue
        owner = view_type if name in view_type.own() else View
        try:
            values[owner.__name__][name] = field.read(text)
        except ValueError as error:
            problems.append(f"The address has {name}={text!r}; it must be {error}.")
    return values, problems


def make_view(kind: type[ViewType], values: Values) -> ViewType:
    page_fields = {} if kind is View else values.get(kind.__name__, {})
    return kind(**values.get(View.__name__, {}), **page_fields)


def model_defaults() -> Values:
    """Return the defaults of all fields that depend on the model, to reset them for another one."""
    values: Values = {}
    for page in PAGES.values():
        for name, field in page.view.own().items():
            if field.of_model:
                values.setdefault(page.view.__name__, {})[name] = field.default
    return values
