"""A teacher's lesson plan: made from stations here, kept as a file or a link, opened from both.

The plan of a teacher belongs to the class. Without a class it is in the page's address, and in the
session if it is too long for a link.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from transformer.classroom import Classroom, ClassroomError
from transformer.classroom.plan import (
    MAX_STATIONS,
    MAX_TITLE_LENGTH,
    Plan,
    Station,
    decode_plan,
    encode_plan,
    one_line,
    read_plan,
    write_plan,
)
from transformer.lessons.course import BY_NAME
from transformer.ui.base import state, visitor
from transformer.ui.base.registry import CLASS, LEARN, path
from transformer.ui.pages.classroom import Class, station_form
from transformer.ui.pages.classroom.invitation import app_address
from transformer.ui.services import live_classes
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.callbacks import attempt, show_refusal, store_refusal

NEW_TITLE = "Lesson plan"
_DRAFT, _CODE, _TITLE, _FILE = (f"class-plan-{n}" for n in ("draft", "code", "title", "file"))
_REFUSED = "class-plan"


def take_link() -> None:
    """Take the plan of the address, if a link has brought one."""
    code = state.view(Class).plan
    if not code or code == st.session_state.get(_CODE):
        return
    try:
        plan = decode_plan(code)
    except ClassroomError as problem:
        store_refusal(_REFUSED, problem)
        state.set_fields(plan="")
        return
    _keep(plan, begin_again=True)


def draft() -> Plan | None:
    """Return the plan of a visitor without a class."""
    plan: Plan | None = st.session_state.get(_DRAFT)
    return plan


def show(classroom: Classroom | None) -> None:
    """Draw the plan of a class or of a visitor, and the forms that change it."""
    show_refusal(_REFUSED)
    plan = classroom.progress.plan if classroom else draft()
    if plan is not None:
        _title(plan)
        for number, station in enumerate(plan.stations):
            _station(plan, number, station)
        _files(plan)
    edited = station_form.edited_number()
    is_edited = plan is not None and edited is not None and edited < len(plan.stations)
    if not is_edited:
        station_form.forget()
    if is_edited or plan is None or len(plan.stations) < MAX_STATIONS:
        label = "Change the station" if is_edited else "Add a station"
        with st.expander(label, expanded=is_edited or plan is None, key="class-plan-form"):
            station_form.draw(_add)
    st.file_uploader(
        "Open a plan that you have saved",
        type=["json"],
        max_upload_size=1,
        key=_FILE,
        on_change=_open_file,
    )


def _title(plan: Plan) -> None:
    st.session_state[_TITLE] = plan.title
    st.text_input("Title of the plan", key=_TITLE, max_chars=MAX_TITLE_LENGTH, on_change=_rename)
    st.caption(f"Stations: {len(plan.stations)}. Minutes in all: {plan.minutes}.")


def _station(plan: Plan, number: int, station: Station) -> None:
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", key=f"class-station-{number}"
    ):
        st.markdown(
            f"**{number + 1}. {frame.plain(station.title)}** · {station.minutes} min  \n"
            f"{describe(station)}"
        )
        for label, key, action in (
            ("Move up", "up", _move_up),
            ("Change", "change", station_form.edit),
            ("Remove", "remove", _remove),
        ):
            is_moved = action is _move_up
            st.button(
                label,
                key=f"class-station-{key}-{number}",
                on_click=action,
                args=(number, plan),
                disabled=is_moved and number == 0,
            )


def describe(station: Station) -> str:
    """Return what a station has, in one line of Markdown."""
    parts = []
    if station.lesson:
        parts.append(f"Lesson *{frame.plain(BY_NAME[station.lesson].title)}*")
    if station.sentence:
        parts.append(f"“{frame.plain(station.sentence)}”")
    if station.question:
        parts.append(f"Question: {frame.plain(station.question.text)}")
    if station.text:
        parts.append(frame.plain(station.text))
    return " · ".join(parts) or "No text"


def _files(plan: Plan) -> None:
    """Draw what keeps the plan: a file, and a link unless the plan is too long for one."""
    try:
        code, problem = encode_plan(plan), ""
    except ClassroomError as error:
        code, problem = "", str(error)
    with st.container(horizontal=True, vertical_alignment="center"):
        tables.download("Save the plan (.json)", lambda: write_plan(plan), "plan.json")
        if code:
            frame.page_link(LEARN, "See and print it →", plan=code)
    if problem:
        st.caption(problem)
        return
    st.caption(
        "This link opens the plan for anybody, with the right answers, in this app and on its "
        "static site; in a class, students get the stations one by one instead."
    )
    st.code(f"{app_address()[0]}{path(LEARN)}?plan={code}", language=None, wrap_lines=True)


def _keep(plan: Plan | None, *, begin_again: bool = False) -> None:
    """Keep a plan: in the class of the teacher, else in the session and the address."""
    classroom = live_classes.current_class()
    code = ""
    if classroom is not None and classroom.is_teacher(visitor.current_id()):
        classroom.progress.set(plan, begin_again=begin_again)
    else:
        st.session_state[_DRAFT] = plan
        with suppress(ClassroomError):
            code = encode_plan(plan) if plan else ""
    st.session_state[_CODE] = code
    state.set_fields(CLASS, plan=code)


def _change(plan: Plan | None) -> None:
    """Keep a plan that the visitor has changed; for callbacks."""
    _keep(plan)
    state.change(CLASS, plan=st.session_state[_CODE])


def _current() -> Plan | None:
    classroom = live_classes.current_class()
    return classroom.progress.plan if classroom else draft()


def _add(station: Station, number: int | None) -> None:
    """Add a station, or replace the one with this number; a callback."""
    plan = _current() or Plan(NEW_TITLE, ())
    stations = list(plan.stations)
    if number is None or number >= len(stations):
        stations.append(station)
    else:
        stations[number] = station
    _change(replace(plan, stations=tuple(stations[:MAX_STATIONS])))


def _move_up(number: int, plan: Plan) -> None:
    stations = list(plan.stations)
    stations[number - 1 : number + 1] = reversed(stations[number - 1 : number + 1])
    _change(replace(plan, stations=tuple(stations)))


def _remove(number: int, plan: Plan) -> None:
    stations = plan.stations[:number] + plan.stations[number + 1 :]
    station_form.forget()
    _change(replace(plan, stations=stations) if stations else None)


def _rename() -> None:
    if (plan := _current()) is not None:
        title = one_line(st.session_state[_TITLE] or "") or NEW_TITLE
        renamed = replace(plan, title=title)
        if attempt(_REFUSED, lambda: read_plan(write_plan(renamed))):
            _change(renamed)


def _open_file() -> None:
    """Open an uploaded plan; a callback."""
    file = st.session_state[_FILE]
    if file is None:
        return

    def open_plan() -> None:
        _keep(read_plan(file.getvalue()), begin_again=True)
        state.change(CLASS, plan=st.session_state[_CODE])

    attempt(_REFUSED, open_plan)
