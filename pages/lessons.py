"""Lessons: a course through all pages, a guess on each step."""

from __future__ import annotations

from transformer.ui import frame, lessons, state
from transformer.ui.lessons import contents
from transformer.ui.lessons.lesson import LIST

with frame.page_without_model(LIST):
    lessons.show(LIST)
    contents.show(state.view().lesson)
