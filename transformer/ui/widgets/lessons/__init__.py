"""A course through all pages: each lesson asks a question, then shows the answer."""

from transformer.ui.widgets.lessons.course import LESSONS
from transformer.ui.widgets.lessons.lesson import Lesson
from transformer.ui.widgets.lessons.lesson_card import lesson_button, open_requested, show

__all__ = ["LESSONS", "Lesson", "lesson_button", "open_requested", "show"]
