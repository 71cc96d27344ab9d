"""Lessons on every page: the client's card of the open lesson, and on the page Learn the list.

The visitor's answers stay in the browser. Only those of a class come here, which its teacher shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from transformer.classroom import Classroom, ClassroomError
from transformer.lessons import course
from transformer.text.door import accepts, read_fields, title, whole
from transformer.ui.base import visitor
from transformer.ui.base.registry import PAGES, path
from transformer.ui.services import live_classes
from transformer.ui.widgets import views
from transformer.ui.widgets.fragment import fragment

_KEY = "lesson"
MAX_OPTIONS = 4
COUNT_SECONDS = 1.0
"""Seconds between two updates of the number of answers for a teacher."""


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """A student's answer: a lesson and the number of an option."""

    lesson: str = accepts(title(20))
    option: int = accepts(whole(0, MAX_OPTIONS - 1))


def mount(file: str) -> None:
    """Mount the client's part of a page; its data change only in a class."""
    classroom = live_classes.current_class()
    with st.container(key=_KEY):
        if classroom is not None and live_classes.is_teacher():
            fragment(_mount, f"lesson-{file}", COUNT_SECONDS)(file)
        else:
            _mount(file)


def _mount(file: str) -> None:
    data = {
        "page": path(file),
        "titles": {path(page_file): page.title for page_file, page in PAGES.items()},
        "class": _class_data(live_classes.current_class()),
    }
    views.component("lesson")(key="lesson-card", data=data, on_choice_change=_take_message)


def _class_data(classroom: Classroom | None) -> dict[str, Any] | None:
    """Return the visitor's class, as `ClassState` of `app/learn/lesson-card.js` describes it; the
    votes for each option only once they are shown."""
    if classroom is None:
        return None
    visitor_id, answers = visitor.current_id(), {}
    for lesson in course.LESSONS:
        counts, shown = classroom.answers(lesson.name), classroom.are_shown(lesson.name)
        if counts or shown:
            votes = [counts[option] for option in range(MAX_OPTIONS)] if shown else []
            answers[lesson.name] = {"count": counts.total(), "counts": votes, "shown": shown}
    return {
        "code": classroom.code,
        "teacher": live_classes.teacher_name(classroom),
        "teaches": classroom.is_teacher(visitor_id),
        "led": classroom.view_to_follow is not None and classroom.follows(visitor_id),
        "members": len(classroom.members()),
        "answers": answers,
    }


def _take_message() -> None:
    """Callback: store a student's answer, or show those of the class."""
    message, classroom = st.session_state["lesson-card"]["choice"], live_classes.current_class()
    if classroom is None or not isinstance(message, Mapping):
        return
    visitor_id = visitor.current_id()
    with suppress(ClassroomError, ValueError):
        if isinstance(sent := message.get("answer"), Mapping):
            answer = read_fields(dict(sent), _Answer)
            if answer.lesson in course.BY_NAME:
                classroom.answer(visitor_id, answer.lesson, answer.option)
        elif isinstance(shown := message.get("show"), str) and shown in course.BY_NAME:
            live_classes.as_teacher(classroom, partial(classroom.show_answers, shown))
