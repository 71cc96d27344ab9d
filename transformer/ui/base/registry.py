"""The pages in the order of the navigation bar, and the parameters of their addresses.

`transformer.ui.pages` registers them; nothing here knows a page.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from transformer.ui.base.address import View

Values = dict[str, dict[str, Any]]
"""Values of fields, by the name of the view class that declares them."""
ViewType = TypeVar("ViewType", bound=View)
HOME, LEARN, CLASS = "app.py", "pages/learn.py", "pages/class.py"
CLIENT_PAGES = (HOME, LEARN)
"""Pages that the client draws and whose addresses it writes."""


@dataclasses.dataclass(frozen=True)
class Page:
    """One page; the `__init__` of its folder in `transformer/ui/pages/` makes it.

    Attributes:
        file: the script that Streamlit runs.
        title: in the navigation bar; heading: above the page, if it differs.
        view: the class of its view, with its own fields if it has any.
        link_text, summary: link and description on the home page, in Markdown; "{lessons}" is
            replaced by the number of lessons.
        depths: labels of the depths of Try, the first one shown at first.
        has_tokens: whether it shows tokens, so that *Show tokens* has an effect.
    """

    file: str
    title: str
    view: type[View] = View
    link_text: str = ""
    summary: str = ""
    heading: str = ""
    depths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    has_tokens: bool = True


PAGES: dict[str, Page] = {}
"""Pages by file."""
BY_PATH: dict[str, str] = {}
"""Files of the pages by path."""


def register(page: Page) -> None:
    PAGES[page.file] = page
    BY_PATH[path(page.file)] = page.file


def path(file: str) -> str:
    """Return the path of this page in its URL."""
    return "" if file == HOME else file.removeprefix("pages/").removesuffix(".py")


def page_name(file: str, depth: str = "") -> str:
    """Return the name of a page in messages: its title, or the label of the depth of Try if that
    is not the first."""
    page = PAGES[file]
    return page.depths[depth] if depth in [*page.depths][1:] else page.title


def parse_params(file: str, params: Mapping[str, str]) -> tuple[Values, list[str]]:
    """Parse the parameters of an address; return the values and one sentence for each problem.

    A field of another page is no problem: after a reload, Streamlit may send the parameters of the
    page that the visitor goes back from.
    """
    view_type = PAGES[file].view
    values: Values = {View.__name__: {}, view_type.__name__: {}}
    problems: list[str] = []
    for name, text in params.items():
        field = view_type.fields().get(name)
        if field is None or not field.linked:
            if not any(name in page.view.own() for page in PAGES.values()):
                problems.append(
                    f'The address has the field "{name}", which this page does not have.'
                )
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
