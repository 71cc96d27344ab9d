"""The classes of this server, shared by all sessions, and a session's own class."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from transformer.classroom import Classes, Classroom, Departure
from transformer.classroom.codes import new_token
from transformer.jobs import Limits
from transformer.jobs.jobs import runs_folder
from transformer.jobs.limits import LIMITS_VARIABLE
from transformer.ui.base import visitor
from transformer.ui.services import shared

CLASSES_FOLDER = ".classes"
"""Folder of the files of classes inside the folder of runs."""

DEPARTURE_MESSAGES: dict[Departure, str] = {
    "ended": "The class has ended. Names and answers have been deleted.",
    "removed": "Your teacher has removed you from the class.",
    "left": "You have left the class. Your name has been deleted.",
    "": "The class was lost when the server restarted. Ask your teacher for a new code.",
}
"""What a page says after the visitor's class, by how they were separated."""


def classes() -> Classes:
    """Return the classes of this server.

    Raises:
        ValueError: if limits.toml cannot be used.
    """
    return shared.shared_service(_classes, os.environ.get(LIMITS_VARIABLE, ""))


def generated_token() -> str:
    """Return the teacher token generated at this start; "" if limits.toml sets one.

    Raises:
        ValueError: see `classes`.
    """
    return "" if _limits().teacher_token else shared.shared_service(new_token)


def class_of(visitor_id: str) -> Classroom | None:
    """Return the class that the visitor teaches or has joined, if any; None if limits.toml is
    invalid, which the page Class reports."""
    with suppress(ValueError):
        return classes().class_of(visitor_id)
    return None


def has_own_engine(visitor_id: str) -> bool:
    """Return whether the visitor's browser runs the models itself in a class."""
    classroom = class_of(visitor_id)
    return classroom is not None and classroom.own_engines


def _any_class() -> bool:
    with suppress(ValueError):
        return len(classes()) > 0
    return False


def current_class() -> Classroom | None:
    """Return the class that this visitor teaches or has joined, if any."""
    if not _any_class():  # cheap: every page calls this
        return None
    visitor_id = visitor.current_id()
    return class_of(visitor_id) if visitor_id else None


def departure_message() -> str:
    """Return why this visitor, who was in a class, is in none."""
    departure: Departure = ""
    with suppress(ValueError):
        departure = classes().departure(visitor.current_id())
    return DEPARTURE_MESSAGES[departure]


def is_teacher() -> bool:
    """Return whether this session's visitor teaches a class."""
    classroom = current_class()
    return classroom is not None and classroom.is_teacher(visitor.current_id())


def teaches(visitor_id: str) -> bool:
    """Return whether this session's visitor is the teacher of the class of `visitor_id`."""
    classroom = current_class()
    return classroom is not None and is_teacher() and classroom.member(visitor_id) is not None


def as_teacher(classroom: Classroom, action: Callable[..., object], *args: object) -> None:
    """Call `action` if this session's visitor still teaches this class; for callbacks of controls,
    which may have been drawn before the class ended."""
    if classroom is current_class() and is_teacher():
        action(*args)


def may_control(owner: str) -> bool:
    """Return whether this session's visitor is `owner`, or the teacher of the owner's class."""
    return owner == visitor.current_id() or teaches(owner)


def teacher_name(classroom: Classroom) -> str:
    """Return the name of the teacher for a sentence, in plain text."""
    return classroom.teacher_name or "your teacher"


def _limits() -> Limits:
    return Limits.load(os.environ.get(LIMITS_VARIABLE) or None)


def _classes(_: str) -> Classes:
    limits = _limits()
    token = limits.teacher_token or generated_token()
    folder = runs_folder() / CLASSES_FOLDER
    return Classes(token, max_members=limits.class_members, folder=folder)
