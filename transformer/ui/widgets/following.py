"""Follow the teacher: students' pages show the teacher's view until a student does something else.

The view is an address of this app, parsed like any other. `services.class_updates` sends it to the
browser, which requests the view or draws it itself; this module then moves the session to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import streamlit as st

from transformer.classroom import Classroom, ClassroomError, ViewToFollow
from transformer.figures.state import DEFAULTS
from transformer.ui.base import state, visitor
from transformer.ui.base.address import PERSONAL_FIELDS
from transformer.ui.base.registry import BY_PATH, CLASS, page_name, path
from transformer.ui.services import live_classes
from transformer.ui.services.class_updates import PATH, following_state, teaching_state
from transformer.ui.widgets import views

MAX_WAIT_SECONDS = 1.0
"""Maximum seconds that a rerun waits for other students' reruns. They run one after another,
because they share one interpreter: two at once take longer than two in sequence."""
_move_lock = threading.Lock()
MAX_ARRIVAL_SECONDS = 10.0
"""Maximum seconds that a browser needs to display a page to which its session was moved. Until
then it sends messages of the page before, for example another message of the class."""
_MOVE = "class_move"  # the last `_Move` of a student's session
_MESSAGE_RERUN = "class_message_rerun"
# This rerun was caused by a message of the class, not by a user action.
_LED_ADDRESS, _CLASS_CODE, _CLASS_ENDED_ON = "class_led", "class_code", "class_over"
# The class and the address that a teacher's session led to last; the class of a session; the page
# on which it learned that the class has ended.


@dataclass(frozen=True)
class _Move:
    """A move of a student's session to the teacher's view.

    Attributes:
        left_page: the page from which the session was moved.
        address: of the new page once it is drawn completely, until then None; it differs from the
            teacher's if the page corrects invalid fields.
        drawn_at: when it was drawn, in seconds of `time.monotonic`.
    """

    view: ViewToFollow
    left_page: str
    address: tuple[str, dict[str, str]] | None = None
    drawn_at: float = 0.0

    @property
    def page(self) -> str:
        return BY_PATH.get(self.view.page, CLASS)

    def is_in_progress(self, file: str) -> bool:
        """Whether a rerun of the page `file` may be older than this move: the new page is not drawn
        or the browser does not display it yet."""
        is_displayed = state.displayed_file() in (None, self.page)
        is_late = time.monotonic() - self.drawn_at > MAX_ARRIVAL_SECONDS
        ended = self.address is not None and (is_displayed or is_late)
        return file in (self.left_page, self.page) and not ended


@contextmanager
def page_in_class(file: str) -> Iterator[None]:
    """Draw a page in this context: before it, a student who follows moves to the teacher's view,
    which may be on another page; after it, the class is led to a teacher's view."""
    _follow_teacher(file)
    move: _Move | None = st.session_state.get(_MOVE)
    if move is None or move.address is not None:
        yield
        lead_to_page(file)
        return
    # Thirty reruns at once would all finish late and delay other visitors.
    acquired = _move_lock.acquire(timeout=MAX_WAIT_SECONDS)
    try:
        yield
        st.session_state[_MOVE] = replace(move, address=_address(file), drawn_at=time.monotonic())
    finally:
        if acquired:
            _move_lock.release()


def _follow_teacher(file: str) -> None:
    """Move a student who follows to the teacher's view; stop following after another action."""
    classroom, visitor_id = live_classes.current_class(), visitor.current_id()
    view = classroom.view_to_follow if classroom else None
    if classroom is None or view is None or not classroom.follows(visitor_id):
        for name in (_MOVE, _MESSAGE_RERUN):
            st.session_state.pop(name, None)
        return
    caused_by_message = st.session_state.pop(_MESSAGE_RERUN, False)
    address, is_at_view = _address(file), view.is_at(*_address(file))
    move: _Move | None = st.session_state.get(_MOVE)
    if move is not None:
        is_expected = classroom.was_recent_view(*address) or address == move.address
        if not (is_expected or caused_by_message or move.is_in_progress(file)):
            classroom.follow(visitor_id, False)
            st.session_state.pop(_MOVE, None)
            return
        if move.view.number == view.number:
            has_arrived = move.address is not None and is_expected and file == move.page
            if is_at_view or (has_arrived and not caused_by_message):
                return
    is_repeated = move is not None and move.view.number == view.number
    st.session_state[_MOVE] = _Move(view, move.left_page if move and is_repeated else file)
    if not is_at_view:
        _open_view(file, view)


def _open_view(file: str, view: ViewToFollow) -> None:
    target = BY_PATH.get(view.page, CLASS)
    state.open_params(target, view.params)
    if target != file:
        st.switch_page(target, query_params=state.params(target))


def lead_to_page(file: str) -> None:
    """Lead the class to the teacher's view, unless it is the page Class."""
    classroom, visitor_id = live_classes.current_class(), visitor.current_id()
    if classroom is None or not classroom.is_teacher(visitor_id) or file == CLASS:
        return
    if not classroom.is_leading:
        return
    address = _address(file)
    if (classroom.code, address) != st.session_state.get(_LED_ADDRESS):
        st.session_state[_LED_ADDRESS] = classroom.code, address
        with suppress(ClassroomError):  # the address is too long: the class stays where it is
            classroom.set_view_to_follow(visitor_id, *address)


def class_line(file: str) -> None:
    """Draw a line with the visitor's status in their class and the button to change it."""
    classroom, visitor_id = live_classes.current_class(), visitor.current_id()
    if classroom is None:
        if st.session_state.pop(_CLASS_CODE, ""):
            st.session_state[_CLASS_ENDED_ON] = file
        # In every rerun of this page: the next rerun may replace the message.
        if st.session_state.get(_CLASS_ENDED_ON) == file:
            st.info(live_classes.departure_message(), icon=":material/group:")
        else:
            st.session_state.pop(_CLASS_ENDED_ON, None)
        return
    st.session_state.pop(_CLASS_ENDED_ON, None)
    st.session_state[_CLASS_CODE] = classroom.code
    teaches = live_classes.is_teacher()
    with st.container(horizontal=True, vertical_alignment="center", key="class-line"):
        line = _teacher_line(classroom) if teaches else _student_line(classroom, visitor_id, file)
        views.component("classroom")(
            key="follow",
            data={
                **line,
                "questions": classroom.measured.changes,
                "path": PATH,
                "pages": [*BY_PATH],
                "teaches": teaches,
            },
            on_choice_change=_on_class_message,
        )
        if file != CLASS:
            st.page_link(CLASS, label="Class")
        if teaches and classroom.is_leading:
            st.button("Stop leading", key="class-lead", on_click=live_classes.as_teacher,
                      args=(classroom, classroom.stop_leading))  # fmt: skip
        elif teaches:
            st.button("Lead the class", key="class-lead", type="primary", on_click=begin_leading)
        elif classroom.view_to_follow and classroom.follows(visitor_id):
            st.button(
                "Stop following",
                key="class-follow",
                on_click=classroom.follow,
                args=(visitor_id, False),
            )
        elif classroom.view_to_follow:
            st.button("Follow again", key="class-follow", type="primary", on_click=follow_again)


def _on_class_message() -> None:
    """Note that a class message caused this rerun; the page reads the class itself."""
    st.session_state[_MESSAGE_RERUN] = True
    state.ignore_address()


def begin_leading() -> None:
    """Start leading the class, from the current view; for callbacks."""
    st.session_state.pop(_LED_ADDRESS, None)
    if classroom := live_classes.current_class():
        classroom.begin_leading(visitor.current_id())


def follow_again() -> None:
    """Return to the teacher's view; for callbacks."""
    st.session_state.pop(_MOVE, None)
    if classroom := live_classes.current_class():
        classroom.follow(visitor.current_id(), True)


def _teacher_line(classroom: Classroom) -> dict[str, object]:
    """Return the line's text, whose numbers the messages fill in, and its state."""
    teaching = teaching_state(classroom)
    text = {
        "leads": "Leading: {following} of {members} following",
        "alone": "Your class: {members} joined",
    }[teaching]
    return {"text": text, "state": teaching}


def _student_line(classroom: Classroom, visitor_id: str, file: str) -> dict[str, object]:
    """Return the line's text and its state; a message with another state redraws it."""
    name, followed_view, status = (
        live_classes.teacher_name(classroom),
        classroom.view_to_follow,
        following_state(classroom, visitor_id),
    )
    move: _Move | None = st.session_state.get(_MOVE)
    teacher_view = move.view if move else ViewToFollow("", {})
    view_name = (
        page_name(BY_PATH[followed_view.page], followed_view.params.get("depth", ""))
        if followed_view and followed_view.page in BY_PATH
        else ""
    )
    return {
        "text": {
            "alone": f"In the class of {name}",
            "follows": f"Following {name}",
            "away": f"Exploring on your own; {name} is at {view_name}",
        }[status],
        "state": status,
        "shown": len(classroom.questions_shown()),
        "leads": classroom.is_leading,
        "number": teacher_view.number,
        "page": teacher_view.page,
        "params": dict(teacher_view.params),
        "explorer_fields": [name for name in DEFAULTS if name not in PERSONAL_FIELDS],
    }


def _address(file: str) -> tuple[str, dict[str, str]]:
    params = {
        name: value for name, value in state.params(file).items() if name not in PERSONAL_FIELDS
    }
    return path(file), params
