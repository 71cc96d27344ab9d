"""A course through all pages: each lesson asks a question, then shows the answer."""

from transformer.ui.lessons.bar import follow, go, show
from transformer.ui.lessons.course import LESSONS
from transformer.ui.lessons.lesson import Lesson

__all__ = ["LESSONS", "Lesson", "follow", "go", "show"]
