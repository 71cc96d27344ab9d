"""Forms to join or open a class, and the pages of its students and its teacher."""

from __future__ import annotations

import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import MAX_NAME_LENGTH
from transformer.ui.base import state, visitor
from transformer.ui.base.registry import HOME
from transformer.ui.pages.classroom import Class, invitation, plan_editor, questions, runs
from transformer.ui.services import live_classes
from transformer.ui.widgets import frame
from transformer.ui.widgets.fragment import fragment

FOLLOWING = "Your screen then shows what your teacher opens, until you open another page yourself."
PRIVACY = (
    "Everyone in the class can see your first name. Your answers to the teacher's questions are "
    "counted anonymously. "
    "Everything is deleted when you leave or the class ends."
)


def join_or_open() -> None:
    """Draw the forms to join and to open a class, and for teachers their plan."""
    plan_editor.take_link()
    code = state.view(Class).code
    if code:
        frame.lead_text(f"Press **Join**. {FOLLOWING}")
    else:
        frame.lead_text(f"Enter your teacher's code. {FOLLOWING}")
    # Both forms before either is used: a message about one must not remove the other.
    student_column, teacher_column = st.columns(2, gap="medium")
    with student_column:
        typed_code, student_name, joins = _join_form(code)
    with teacher_column:
        with st.expander("For teachers: open a class", expanded=True):
            token, teacher_name, opens = _open_form()
        if not code:
            with st.expander(
                "For teachers: prepare a lesson", expanded=plan_editor.draft() is not None
            ):
                plan_editor.show(None)
    visitor_id = visitor.ensure_id()
    if joins:
        joined = live_classes.classes().join(typed_code, visitor_id, student_name)
        joined.follow(visitor_id, True)
        state.set_fields(code="")
    elif opens:
        opened = live_classes.classes().open(token, visitor_id, teacher_name)
        opened.progress.set(plan_editor.draft())
        state.set_fields(plan="")
    if joins or opens:
        state.rerun_page()


def _join_form(code: str) -> tuple[str, str, bool]:
    """Return the code, the name, and whether the button was clicked."""
    with st.form("class-join"):
        typed_code = st.text_input("Code", code, max_chars=20, placeholder="for example K7F A2P")
        name = st.text_input(
            "First name (optional)", max_chars=MAX_NAME_LENGTH, autocomplete="given-name"
        )
        clicked = st.form_submit_button("Join", type="primary")
        st.caption(PRIVACY)
    return typed_code, name, clicked


def _open_form() -> tuple[str, str, bool]:
    """Return the token, the name, and whether the button was clicked."""
    st.markdown(
        "Students join with a code, see the pages that you open, and answer your questions. To "
        "open a class you need the teacher token: the app prints it in the terminal window where "
        "it was started. If somebody else runs the app, ask them (`teacher_token` in limits.toml)."
    )
    with st.form("class-open", border=False):
        token = st.text_input("Token", type="password", max_chars=200, autocomplete="off")
        name = st.text_input("Your name, as students will see it", max_chars=MAX_NAME_LENGTH)
        clicked = st.form_submit_button("Open a class")
    return token, name, clicked


def student(classroom: Classroom) -> None:
    member = classroom.member(visitor.current_id())
    teacher = frame.plain(live_classes.teacher_name(classroom))
    name_note = f" as **{frame.plain(member.label)}**" if member else ""
    frame.lead_text(f"You are in the class of **{teacher}**{name_note}.")
    capitalized_teacher = f"{teacher[:1].upper()}{teacher[1:]}"
    if classroom.view_to_follow is not None:
        st.markdown(
            f"{capitalized_teacher} is leading. If you open another page yourself, you stop "
            f"following. **Follow again** returns you to {teacher}'s view."
        )
        st.button(
            "Follow again",
            key="class-back",
            type="primary",
            on_click=classroom.follow,
            args=(visitor.current_id(), True),
        )
    elif classroom.is_leading:
        st.markdown(
            f"{capitalized_teacher} is leading. Every page that {teacher} opens will open here too."
        )
    else:
        st.markdown(
            f"{capitalized_teacher} is not leading at the moment, so you can explore the app on "
            f"your own. When {teacher} leads again, your page follows."
        )
        frame.page_link(HOME, "Explore the app →")
    st.button(
        "Leave the class",
        key="class-leave",
        on_click=lambda: live_classes.classes().leave(visitor.current_id()),
    )
    st.caption(PRIVACY)


_OWN_ENGINES = "class-own-engines"
REFRESH_SECONDS = 2.0
"""Seconds between two reruns of the list of students."""


def teacher(classroom: Classroom) -> None:
    """Draw the teacher's own page: how to join, who leads, plan, questions, and all controls."""
    plan_editor.take_link()
    invite_column, members_column = st.columns([2, 3], gap="large")
    with invite_column:
        invitation.show(classroom)
    with members_column:
        fragment(_members, "class-members", REFRESH_SECONDS)(classroom)
        _leader(classroom)
        _own_engines(classroom)
        with st.container(horizontal=True, key="class-buttons"):
            with st.popover("Remove students …"):
                fragment(_remove, "class-remove", REFRESH_SECONDS)(classroom)
            _end_class(classroom)
    questions.show(classroom)
    st.header("Lesson plan")
    plan_editor.show(classroom)
    runs.show(classroom)


def _leader(classroom: Classroom) -> None:
    """Draw whether the teacher leads the class, and the button to lead."""
    if classroom.is_leading:
        st.markdown(
            "You are leading: every page, sentence and head that you open is shown to the "
            "students who follow. In **Learn** the class answers together, and you decide "
            "when to show the answers."
        )
    else:
        st.markdown("You are not leading; every student explores on their own.")
        st.button(
            "Lead the class",
            key="class-lead-here",
            on_click=classroom.begin_leading,
            args=(visitor.current_id(),),
        )
    frame.page_link(HOME, "Open the home page →")


def _own_engines(classroom: Classroom) -> None:
    """Draw the switch for the students' own engines."""
    st.toggle(
        "Students' browsers compute by themselves",
        classroom.own_engines,
        key=_OWN_ENGINES,
        on_change=lambda: classroom.set_own_engines(
            visitor.current_id(), st.session_state[_OWN_ENGINES]
        ),
        help="Each browser loads a model once from this server, for en-fr 27 MB, and then "
        "translates by itself. The server answers until the model is loaded, for browsers that "
        "cannot run it, and for sampling. Switch this on for a large class or a slow server.",
    )


def _remove(classroom: Classroom) -> None:
    """Draw the form that removes students."""
    labels = {member.number: f"{member.label} ({member.number})" for member in classroom.members()}
    chosen = st.multiselect(
        "Students", list(labels), format_func=lambda number: labels.get(number, ""), key="removed"
    )
    st.caption("They cannot join this class again with the same browser.")
    st.button(
        "Remove",
        key="class-remove",
        disabled=not chosen,
        on_click=lambda: live_classes.classes().remove(visitor.current_id(), chosen),
    )


def _end_class(classroom: Classroom) -> None:
    with st.popover("End the class …"):
        st.markdown(
            "This deletes the code, all names and all answers. Download the answers first."
            if classroom.measured.results() or classroom.lessons.shown()
            else "This deletes the code, all names and all answers."
        )
        st.button(
            "End the class",
            key="class-close",
            type="primary",
            on_click=lambda: live_classes.classes().end(visitor.current_id()),
        )


def _members(classroom: Classroom) -> None:
    members = classroom.members()
    if not members:
        st.header("No students yet")
        return
    st.header(f"{len(members)} joined")
    st.markdown(" · ".join(frame.plain(member.label) for member in members))
    _refused(classroom)


def _refused(classroom: Classroom) -> None:
    """Draw how many browsers could not join, and the button that lets them."""
    refused = classroom.refused_joins()
    if refused["full"]:
        st.warning(
            f"The class is full; browsers refused: {refused['full']}. Remove students, or raise "
            "`class_members` in limits.toml."
        )
    if refused["rate"]:
        st.warning(
            f"Too many browsers have joined within a minute; browsers refused: {refused['rate']}."
        )
        st.button(
            "Let them join now",
            key="class-allow-joins",
            on_click=classroom.allow_joins,
            args=(visitor.current_id(),),
        )
