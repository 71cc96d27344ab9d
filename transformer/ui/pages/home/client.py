"""The client on the page Try."""

from __future__ import annotations

from transformer.lessons.course import LESSONS
from transformer.ui.base import state
from transformer.ui.base.registry import BY_PATH, CLASS, PAGES, path
from transformer.ui.widgets import views


def show() -> None:
    """Mount the client. Its data change only with the larger drawing."""
    views.component("try")(
        key="try",
        data={
            "pages": [*BY_PATH],
            "places": _places(),
            "large": state.is_large(),
        },
    )


def _places() -> list[dict[str, object]]:
    """Return what `app/try/end.js` leads to: the first lesson, other pages, and the class."""
    first = LESSONS[0]
    lesson = {"lesson": first.name}
    places = [
        _place(first.question_page, "Begin with the first lesson →", **lesson),
        *(
            _place(path(file), page.link_text, page.summary.format(lessons=len(LESSONS)))
            for file, page in PAGES.items()
            if page.link_text
        ),
        _place(path(CLASS), "In a classroom? Join its class, or open one →"),
    ]
    return places


def _place(page: str, label: str, text: str = "", **params: str) -> dict[str, object]:
    return {"page": page, "label": label, "text": text, "params": params}
