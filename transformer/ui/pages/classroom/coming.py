"""Join a class with its code, open one with the teacher's token, and the page of its students."""

from __future__ import annotations

import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import NAME_LENGTH
from transformer.ui import state
from transformer.ui.pages.classroom import Class, runs
from transformer.ui.services import live_classes
from transformer.ui.shell import visitor
from transformer.ui.shell.registry import HOME
from transformer.ui.widgets import following, frame

PRIVACY = (
    "Everyone in the class can see your first name. Your answers are counted anonymously. "
    "Everything is deleted when you leave or the class ends."
)


def show() -> None:
    code = state.view(Class).code
    if code:
        frame.lead("Click **Join**. Your pages will then follow your teacher's.")
    else:
        frame.lead("Enter your teacher's code. Your pages will then follow your teacher's.")
    with st.container(width=420):
        _join(code)
        with st.expander("For teachers: open a class"):
            _open()


def _join(code: str) -> None:
    with st.form("class-join"):
        typed = st.text_input("Code", code, max_chars=20, placeholder="K7F A2P")
        name = st.text_input(
            "First name (optional)", max_chars=NAME_LENGTH, autocomplete="given-name"
        )
        if not st.form_submit_button("Join", type="primary"):
            st.caption(PRIVACY)
            return
    live_classes.classes().join(typed, visitor.owner(), visitor.address(), name)
    state.normalise(code="")
    following.come_back()
    state.start_anew()


def _open() -> None:
    st.markdown(
        "You need the teacher token of this server: `teacher_token` in limits.toml or, if that is "
        "empty, the one that the console shows when the app starts."
    )
    with st.form("class-open", border=False):
        token = st.text_input("Token", type="password", max_chars=200, autocomplete="off")
        name = st.text_input("Your name, as students will see it", max_chars=NAME_LENGTH)
        if not st.form_submit_button("Open a class"):
            return
    live_classes.classes().open(token, visitor.owner(), visitor.address(), name)
    state.start_anew()


def student(room: Classroom) -> None:
    me = room.member(visitor.known())
    teacher = frame.plain(live_classes.called(room))
    called = f" as **{frame.plain(me.label)}**" if me else ""
    frame.lead(f"You are in the class of **{teacher}**{called}.")
    begins = f"{teacher[:1].upper()}{teacher[1:]}"
    if room.lead is not None:
        st.markdown(
            f"{begins} is leading. If you navigate by yourself you stop following; **Follow "
            f"again** returns you to {teacher}'s view."
        )
        st.button("Follow again", key="class-back", type="primary", on_click=following.come_back)
    elif room.leads:
        st.markdown(f"{begins} is leading. As soon as {teacher} opens a page, it opens here too.")
    else:
        st.markdown(
            f"{begins} is not leading at the moment, so you can explore the app on your own. When "
            f"{teacher} leads again, your page follows."
        )
        frame.link(HOME, "Explore the app →")
    runs.of_student(room)
    st.button(
        "Leave the class",
        key="class-leave",
        on_click=lambda: live_classes.classes().leave(visitor.known()),
    )
    st.caption(PRIVACY)
