"""A course through all pages: each lesson asks a question, then shows the answer."""

from transformer.ui.widgets.lessons.bar import follow, go, show
from transformer.ui.widgets.lessons.course import LESSONS
from transformer.ui.widgets.lessons.lesson import Lesson

__all__ = ["LESSONS", "Lesson", "follow", "go", "show"]
