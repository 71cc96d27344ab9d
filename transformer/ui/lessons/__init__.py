"""A way through all pages: each lesson is a prepared view, a few words and a question."""

from transformer.ui.lessons.bar import follow, go, show
from transformer.ui.lessons.course import LESSONS
from transformer.ui.lessons.lesson import Lesson

__all__ = ["LESSONS", "Lesson", "follow", "go", "show"]
