"""A class: its code, members, current view and collected answers, all in memory.

All of it lies in the server's memory and is gone when the class ends. It knows nothing of pages,
nor of cookies: a visitor is the id that whoever calls knows them by.
"""

from transformer.classroom.classes import Classes
from transformer.classroom.classroom import Classroom, Member, ViewToFollow
from transformer.classroom.codes import ClassroomError

__all__ = ["Classes", "Classroom", "ClassroomError", "Member", "ViewToFollow"]
