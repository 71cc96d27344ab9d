"""One `Classes` for all sessions of this server, and what a session asks of it."""

from __future__ import annotations

import os
from contextlib import suppress

from transformer.classroom import Classes, Classroom
from transformer.classroom.codes import new_token
from transformer.jobs import Limits, services
from transformer.jobs.limits import LIMITS_VARIABLE
from transformer.ui.shell import visitor


def classes() -> Classes:
    """The classes of this server.

    Raises:
        ValueError: if limits.toml cannot be used.
    """
    return services.shared_service(_classes, os.environ.get(LIMITS_VARIABLE, ""))


def generated_token() -> str:
    """The token that was made at this start; "" where limits.toml has one. Raises ValueError as
    `classes` does."""
    return "" if _limits().teacher_token else services.shared_service(new_token)


def class_of(visitor_id: str) -> Classroom | None:
    """The class that somebody leads or is in, if any; there is none where limits.toml is broken,
    which the page Class says."""
    with suppress(ValueError):
        return classes().class_of(visitor_id)
    return None


def _any_class() -> bool:
    with suppress(ValueError):
        return len(classes()) > 0
    return False


def current_class() -> Classroom | None:
    """The class that this visitor leads or is in, if any."""
    if not _any_class():  # every page asks
        return None
    visitor_id = visitor.current_id()
    return class_of(visitor_id) if visitor_id else None


def is_teacher() -> bool:
    classroom = current_class()
    return classroom is not None and classroom.is_teacher(visitor.current_id())


def teaches(visitor_id: str) -> bool:
    """Whether this visitor is the teacher of somebody."""
    classroom = current_class()
    return (
        classroom is not None
        and classroom.is_teacher(visitor.current_id())
        and classroom.member(visitor_id) is not None
    )


def teacher_name(classroom: Classroom) -> str:
    """The class's teacher, as a sentence names them; in plain text."""
    return classroom.teacher_name or "your teacher"


def _limits() -> Limits:
    return Limits.load(os.environ.get(LIMITS_VARIABLE) or None)


def _classes(_: str) -> Classes:
    limits = _limits()
    token = limits.teacher_token or generated_token()
    return Classes(token, max_classes=limits.classes, max_members=limits.class_members)
