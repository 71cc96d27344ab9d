"""The client on the page Try."""

from __future__ import annotations

from typing import Any

from transformer.lessons.course import LESSONS
from transformer.ui.base import state
from transformer.ui.base.registry import BY_PATH, CLASS, LEARN, PAGES, path
from transformer.ui.widgets import views

CLINIC = (
    "Small Transformers with one mistake each: see the symptom, prove the cause, correct the line."
)


def show() -> None:
    """Mount the client. Its data change only with the larger drawing."""
    views.component("try")(
        key="try",
        data={
            "pages": [*BY_PATH],
            "places": next_places(),
            "large": state.is_large(),
        },
    )


def next_places() -> list[dict[str, Any]]:
    """Return what `app/try/end.js` leads to: the first lesson, the Bug clinic, other pages, and the
    class."""
    first = LESSONS[0]
    lesson = {"lesson": first.name}
    places = [
        _place(first.question_page, "Begin with the first lesson →", **lesson),
        *(
            _place(path(file), page.link_text, page.summary.format(lessons=len(LESSONS)))
            for file, page in PAGES.items()
            if page.link_text
        ),
        _place(path(LEARN), "**Bug clinic**: find what is broken →", CLINIC, clinic="1"),
        _place(path(CLASS), "In a classroom? Join its class, or open one →"),
    ]
    return places


def _place(page: str, label: str, text: str = "", **params: str) -> dict[str, Any]:
    return {"page": page, "label": label, "text": text, "params": params}
