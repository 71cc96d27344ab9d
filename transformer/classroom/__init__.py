"""A class: its code, members, current view and collected answers.

Everything is kept in the server's memory, and what must survive a restart also in a small file
(`stored`); both are deleted when the class ends. The package does not depend on pages or cookies:
the caller chooses the ids of visitors.
"""

from transformer.classroom.classes import Classes, Departure
from transformer.classroom.classroom import Classroom, ViewToFollow
from transformer.classroom.codes import ClassroomError
from transformer.classroom.measured import QuestionStatus
from transformer.classroom.plan import MeasuredQuestion
from transformer.classroom.results import MeasuredResult

__all__ = [
    "Classes",
    "Classroom",
    "ClassroomError",
    "Departure",
    "MeasuredQuestion",
    "MeasuredResult",
    "QuestionStatus",
    "ViewToFollow",
]
