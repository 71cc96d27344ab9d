"""Lessons: a course through all pages, a guess on each step."""

from __future__ import annotations

from transformer.ui import lessons, page, state
from transformer.ui.lessons import contents
from transformer.ui.lessons.lesson import LIST

with page.page_without_model(LIST):
    lessons.show(LIST)
    contents.show(state.view().lesson)
