"""A course through all pages: each lesson asks, waits for a guess, and shows what there is."""

from transformer.ui.lessons.bar import follow, go, show
from transformer.ui.lessons.course import LESSONS
from transformer.ui.lessons.lesson import Lesson

__all__ = ["LESSONS", "Lesson", "follow", "go", "show"]
