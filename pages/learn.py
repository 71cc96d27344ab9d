"""Lessons: a course through all pages, with a question on each step."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.learn import PAGE, Learn, clinic
from transformer.ui.widgets import lesson_card, page

with page.page_without_model(PAGE.file):
    if state.view(Learn).clinic:
        clinic.show()
    else:
        lesson_card.mount(PAGE.file)
