"""The list of pages in the order of the navigation bar: file, title, view and description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from transformer.figures.state import names_by_old_name
from transformer.ui.address import View
from transformer.ui.pages.attention import Attention
from transformer.ui.pages.classroom import Class
from transformer.ui.pages.findings import Findings
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.positions import Positions
from transformer.ui.pages.training import Train
from transformer.ui.pages.translate import Translate
from transformer.ui.pages.why import Why

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
        in_navigation: whether the navigation bar of every page lists it, not only its own.
    """

    title: str
    view: type[View] = View
    link_text: str = ""
    summary: str = ""
    heading: str = ""
    in_navigation: bool = True


HOME, CLASS = "app.py", "pages/class.py"
PAGES = {
    HOME: Page("Heads Up", heading="Heads Up: see attention"),
    "pages/lessons.py": Page(
        "Lessons",
        link_text="**Lessons**: a way through the paper, step by step →",
        summary="{lessons} prepared views, each with a question that it answers. New here? Begin "
        "with these.",
    ),
    "pages/translate.py": Page(
        "Translate",
        Translate,
        link_text="**Translate** a sentence of your own →",
        summary="Every decoding step: the prefix, the candidates and the choice.",
    ),
    "pages/attention.py": Page(
        "Attention",
        Attention,
        "**Attention** of every layer and head →",
        "As lines, heatmaps or numbers, step by step, or side by side with another translation.",
    ),
    "pages/lab.py": Page(
        "Heads lab",
        Lab,
        "**Heads lab**: is attention an explanation? →",
        "Switch off heads, attribute outputs to inputs, and find the heads that the model needs.",
    ),
    "pages/inside.py": Page(
        "Inside",
        Inside,
        "**Inside**: the paper's Figure 1, box by box →",
        "Every number on a sentence's way through the model, and how it is computed.",
    ),
    "pages/positions.py": Page(
        "Positions",
        Positions,
        "**Positions**: how the model knows the word order →",
        "Sinusoids added to embeddings; which heads attend by position and which by content.",
    ),
    "pages/why.py": Page(
        "Why self-attention",
        Why,
        "**Why self-attention** →",
        "Four kinds of layers compared by operations, measured time and training.",
    ),
    "pages/train.py": Page(
        "Train",
        Train,
        "**Train** a model, and watch attention form →",
        "A small model learns to reverse, to sort or to write simple French, in seconds.",
    ),
    "pages/findings.py": Page(
        "Findings",
        Findings,
        link_text="**Findings** of papers, tested →",
        summary="Published claims about attention heads, tested on this model.",
    ),
    "pages/glossary.py": Page("Glossary"),
    CLASS: Page("Class", Class, heading="Classroom", in_navigation=False),
}


def path(file: str) -> str:
    """Return the path of this page in its URL."""
    return "" if file == HOME else file.removeprefix("pages/").removesuffix(".py")


BY_PATH = {path(file): file for file in PAGES}
"""Files of the pages by path."""
OLD_NAMES = {
    old_name: name
    for page in PAGES.values()
    for old_name, name in names_by_old_name(page.view.fields()).items()
}
"""Names of fields in addresses of older versions, and their names now."""


def parse_params(file: str, params: Mapping[str, str]) -> tuple[Values, list[str]]:
    """Parse the parameters of an address; return the values and one sentence for each problem.

    An old address may contain fields of other pages: their values are returned under the views of
    those pages.
    """
    view_type = PAGES[file].view
    values: Values = {View.__name__: {}, view_type.__name__: {}}
    problems: list[str] = []
    for name, text in params.items():
        name = OLD_NAMES.get(name, name)
        owners = owners_of(name, file)
        parsed = []
        for owner in owners:
            try:
                parsed.append((owner, owner.fields()[name].read(text)))
            except ValueError as error:
                problem = f"The address has {name}={text!r}; it must be {error}."
        for owner, value in parsed:
            values.setdefault(owner.__name__, {})[name] = value
        if not owners:
            problems.append(f'The address has the field "{name}", which this app does not know.')
        elif not parsed:
            problems.append(problem)
    return values, problems


def make_view(kind: type[ViewType], values: Values) -> ViewType:
    page_fields = {} if kind is View else values.get(kind.__name__, {})
    return kind(**values.get(View.__name__, {}), **page_fields)


def owners_of(name: str, file: str) -> list[type[View]]:
    """Return the views that declare this field: the shared one, this page's, or else others."""
    if name in View.fields():
        return [View]
    if name in PAGES[file].view.own():
        return [PAGES[file].view]
    return [page.view for page in PAGES.values() if name in page.view.own()]


def model_defaults() -> Values:
    """Return the defaults of all fields that depend on the model, to reset them for another one."""
    values: Values = {}
    for page in PAGES.values():
        for name, field in page.view.own().items():
            if field.of_model:
                values.setdefault(page.view.__name__, {})[name] = field.default
    return values
