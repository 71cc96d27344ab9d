"""Follow me: the class's pages go where its teacher is, until a student goes their own way.

What is followed is an address of this app, read as every other one. The browser is told at once
(`server.class_news`) and asks for the view, or draws it itself; where to go it hears from here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st

from transformer.classroom import Classroom, ClassroomError, ViewToFollow
from transformer.figures.state import DEFAULTS
from transformer.ui import state
from transformer.ui.services import live_classes
from transformer.ui.shell import visitor
from transformer.ui.shell.class_news import PATH, following_state
from transformer.ui.shell.registry import BY_PATH, CLASS, PAGES, path
from transformer.ui.widgets import views

TRAIN = "pages/train.py"
PERSONAL_FIELDS = ("exact", "size")
"""Fields of a view that are everybody's own way to look."""
MAX_WAIT_SECONDS = 1.0
"""Seconds that a page waits which is drawn because a class was led on: one after the other, for
they share one interpreter, and two at once take longer than one after the other."""
_ARRIVALS = threading.Lock()
_AT, _ARRIVING, _SETTLED = "class_at", "class_arriving", "class_settled"
# Of a student's session: the lead's view that it was brought to; where it came from, until
# the page was drawn to its end; the address that it had then, which the page may have repaired.
_NEWS_RERUN = "class_heard"
# The browser has asked for the page because of the class's news, and not because of what was done.
_LED, _CODE, _OVER = "class_led", "class_code", "class_over"
# The class and the address that a teacher's session led to last; the class that a session is in;
# the page on which it learned that there is none any more.


@contextmanager
def page_in_class(file: str) -> Iterator[None]:
    """Around everything that a page draws: a student who follows is brought to the teacher's view
    first, which may be another page; what a teacher looks at is where the class goes."""
    _go_to_lead(file)
    if not st.session_state.get(_ARRIVING):
        yield
        lead_to_page(file)
        return
    # Thirty at once would all be last, and whoever looks at something else would wait for them.
    acquired = _ARRIVALS.acquire(timeout=MAX_WAIT_SECONDS)
    try:
        yield
        st.session_state.pop(_ARRIVING, None)
        st.session_state[_SETTLED] = _address(file)
    finally:
        if acquired:
            _ARRIVALS.release()


def _go_to_lead(file: str) -> None:
    """A student who did something else since is on their own; one who follows goes on."""
    classroom, me = live_classes.current_class(), visitor.current_id()
    lead = classroom.lead if classroom else None
    if classroom is None or lead is None or not classroom.follows(me):
        for name in (_AT, _ARRIVING, _NEWS_RERUN):
            st.session_state.pop(name, None)
        return
    address, at = _address(file), st.session_state.get(_AT)
    new = at is None or lead.number != at.number
    is_expected = address == st.session_state.get(_SETTLED) or classroom.was_led_to(*address)
    # The browser is on its way, or asked for the page that it left before it heard where to go.
    on_its_way = file in (st.session_state.get(_ARRIVING), BY_PATH.get(lead.page))
    arriving = _ARRIVING in st.session_state and on_its_way
    by_news = st.session_state.pop(_NEWS_RERUN, False)
    if at and not (is_expected or arriving or by_news):
        classroom.follow(me, False)
        for name in (_AT, _ARRIVING):
            st.session_state.pop(name, None)
    elif new or by_news or not is_expected or address[0] != lead.page:
        st.session_state[_AT] = lead
        if not lead.is_at(*address):
            _go(file, lead)


def _go(file: str, lead: ViewToFollow) -> None:
    to = BY_PATH.get(lead.page, CLASS)
    st.session_state[_ARRIVING] = file
    state.open_params(to, lead.params, keep=PERSONAL_FIELDS)
    if to != file:
        st.switch_page(to, query_params=state.params(to))


def lead_to_page(file: str) -> None:
    """What a teacher who leads looks at is where the class goes; but for the page of the class."""
    classroom = live_classes.current_class()
    if (
        classroom is None
        or not classroom.is_teacher(visitor.current_id())
        or not classroom.is_leading
        or file == CLASS
    ):
        return
    address = _address(file)
    if (classroom.code, address) != st.session_state.get(_LED):
        st.session_state[_LED] = classroom.code, address
        with suppress(ClassroomError):  # too long an address: the class stays where it is
            classroom.lead_to(*address)


def class_line(file: str) -> None:
    """A line that says how the visitor stands in their class, with the one thing to do about it."""
    classroom, me = live_classes.current_class(), visitor.current_id()
    if classroom is None:
        if st.session_state.pop(_CODE, ""):
            st.session_state[_OVER] = file
        if st.session_state.get(_OVER) == file:  # not once alone: the next drawing may overtake it
            st.info(
                "The class has ended. Names and answers have been deleted.", icon=":material/group:"
            )
        else:
            st.session_state.pop(_OVER, None)
        return
    st.session_state.pop(_OVER, None)
    st.session_state[_CODE] = classroom.code
    teaches = classroom.is_teacher(me)
    with st.container(horizontal=True, vertical_alignment="center", key="class-sign"):
        line = _teacher_line(classroom) if teaches else _student_line(classroom, me, file)
        views.component("follow")(
            key="follow",
            data={**line, "path": PATH, "pages": [*BY_PATH], "teaches": teaches},
            on_choice_change=_on_news,
        )
        if file != CLASS:
            st.page_link(CLASS, label="Class")
        if run := classroom.race_run(me):
            st.page_link(TRAIN, label="Your training run →", query_params={"run": run})
        if teaches and classroom.is_leading:
            st.button("Stop leading", key="class-lead", on_click=classroom.stop_leading)
        elif teaches:
            st.button("Lead the class", key="class-lead", type="primary", on_click=begin_leading)
        elif classroom.lead and classroom.follows(me):
            st.button(
                "Stop following", key="class-follow", on_click=classroom.follow, args=(me, False)
            )
        elif classroom.lead:
            st.button("Follow again", key="class-follow", type="primary", on_click=follow_again)


def _on_news() -> None:
    """What the news was, the page reads itself."""
    st.session_state[_NEWS_RERUN] = True
    state.ignore_address()


def begin_leading() -> None:
    """The teacher leads from now on, and from here; for a callback."""
    st.session_state.pop(_LED, None)
    if classroom := live_classes.current_class():
        classroom.begin_leading()


def follow_again() -> None:
    """To the teacher's view; for a callback."""
    st.session_state.pop(_AT, None)
    if classroom := live_classes.current_class():
        classroom.follow(visitor.current_id(), True)


def _teacher_line(classroom: Classroom) -> dict[str, object]:
    text = (
        "Leading {following} of {members}"
        if classroom.is_leading
        else "Your class: {members} joined"
    )
    return {"text": text, "standing": "leads" if classroom.is_leading else "alone"}


def _student_line(classroom: Classroom, me: str, file: str) -> dict[str, object]:
    """The line, and what it was drawn for: other news than these want it drawn anew."""
    name, lead, stands = (
        live_classes.teacher_name(classroom),
        classroom.lead,
        following_state(classroom, me),
    )
    at: ViewToFollow = st.session_state.get(_AT) or ViewToFollow("", {})
    where = PAGES[BY_PATH[lead.page]].title if lead and lead.page in BY_PATH else ""
    return {
        "text": {
            "alone": f"In the class of {name}",
            "follows": f"Following {name}",
            "away": f"Exploring on your own; {name} is at {where}",
        }[stands],
        "standing": stands,
        "shown": len(classroom.questions_shown()),
        "leads": classroom.is_leading,
        "race": classroom.race,
        "number": at.number,
        "page": at.page,
        "params": dict(at.params),
        "explored": [name for name in DEFAULTS if name not in PERSONAL_FIELDS],
    }


def _address(file: str) -> tuple[str, dict[str, str]]:
    params = {
        name: value for name, value in state.params(file).items() if name not in PERSONAL_FIELDS
    }
    return path(file), params
