"""Lessons: a course through all pages, with a question on each step."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.learn import Learn, clinic, contents
from transformer.ui.widgets import lessons, page
from transformer.ui.widgets.lessons.lesson import LIST_PAGE

with page.page_without_model(LIST_PAGE):
    if state.view(Learn).clinic:
        clinic.show()
    else:
        lessons.show(LIST_PAGE)
        contents.show(state.view().lesson)
