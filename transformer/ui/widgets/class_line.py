"""The line of a visitor's class: the client draws it, and follows or leads with it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.classroom import Classroom
from transformer.ui.base import visitor
from transformer.ui.base.address import PERSONAL_FIELDS
from transformer.ui.base.registry import CLASS, HOME, PAGES, path
from transformer.ui.services import live_classes, view_scripts
from transformer.ui.services.class_updates import PATH, following_state, teaching_state
from transformer.ui.widgets import views

CODE_COOKIE = "heads_up_class"
"""Cookie with the code of the class in which the browser was last. By it a new session, for example
after a restart of the server, can say that the class is over."""
_WAS_IN_CLASS, _OVER = "class code", "class over"
# Whether the session had a class, "" before its first run; the page with the sentence that the
# class is over, and the sentence.


def show(file: str) -> None:
    """Draw the line of the visitor's class, or that they are in it no longer."""
    classroom = live_classes.current_class()
    had_class = _had_class()
    st.session_state[_WAS_IN_CLASS] = classroom is not None
    if classroom is not None:
        st.session_state.pop(_OVER, None)
        _mount(_data(classroom, file))
        return
    if had_class:
        st.session_state[_OVER] = file, live_classes.departure_message()
    # In every rerun of this page: the next rerun may replace the sentence.
    page, sentence = st.session_state.get(_OVER, ("", ""))
    if page == file:
        _mount({"over": sentence})
    else:
        st.session_state.pop(_OVER, None)


def _had_class() -> bool:
    """Return whether the last run of this session, or an earlier session, had a class."""
    if _WAS_IN_CLASS in st.session_state:
        return bool(st.session_state[_WAS_IN_CLASS])
    code = st.context.cookies.get(CODE_COOKIE)
    return isinstance(code, str) and code != ""


def _mount(data: dict[str, Any]) -> None:
    views.component("classroom")(
        key="class-line",
        data=data,
        on_choice_change=lambda: None,  # a rerun draws the class's news
    )


def _data(classroom: Classroom, file: str) -> dict[str, Any]:
    """Return what `client/app/frame/classroom.js` takes."""
    return {
        "path": PATH,
        "code": classroom.code,
        "teaches": live_classes.is_teacher(),
        "teacher": live_classes.teacher_name(classroom),
        "page": path(file),
        "classPage": path(CLASS),
        "pages": {path(page_file): page.title for page_file, page in PAGES.items()},
        "depths": dict([*PAGES[HOME].depths.items()][1:]),
        "personal": list(PERSONAL_FIELDS),
        "worker": view_scripts.worker_folder(),
        "drawn": _drawn(classroom, file),
    }


def _drawn(classroom: Classroom, file: str) -> dict[str, int | str]:
    """Return what this page draws of the class's news."""
    drawn: dict[str, int | str] = {"questions": classroom.measured.changes}
    if file == CLASS:
        visitor_id = visitor.current_id()
        drawn["state"] = (
            teaching_state(classroom)
            if classroom.is_teacher(visitor_id)
            else following_state(classroom, visitor_id)
        )
        drawn["shown"] = len(classroom.lessons.shown())
    return drawn
