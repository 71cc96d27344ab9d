"""Lessons: a course through all pages, with a question on each step."""

from __future__ import annotations

from transformer.ui import state
from transformer.ui.shell import page
from transformer.ui.widgets import lessons
from transformer.ui.widgets.lessons import contents
from transformer.ui.widgets.lessons.lesson import LIST_PAGE

with page.page_without_model(LIST_PAGE):
    lessons.show(LIST_PAGE)
    contents.show(state.view().lesson)
