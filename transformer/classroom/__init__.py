"""A class: its code, members, current view and collected answers, all in memory.

Everything is kept in the server's memory and deleted when the class ends. The package does not
depend on pages or cookies: the caller chooses the ids of visitors.
"""

from transformer.classroom.classes import Classes
from transformer.classroom.classroom import Classroom, Member, ViewToFollow
from transformer.classroom.codes import ClassroomError
from transformer.classroom.measured import MeasuredQuestion, MeasuredQuestions, QuestionStatus
from transformer.classroom.results import MeasuredResult, RoundDifference

__all__ = [
    "Classes",
    "Classroom",
    "ClassroomError",
    "MeasuredQuestion",
    "MeasuredQuestions",
    "MeasuredResult",
    "Member",
    "QuestionStatus",
    "RoundDifference",
    "ViewToFollow",
]
