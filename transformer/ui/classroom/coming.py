"""Into a class and out of it: a code and a first name to join one, the teacher's token to open one;
and what a student of one finds."""

from __future__ import annotations

import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import NAME_LENGTH
from transformer.ui import following, frame, live_classes, state
from transformer.ui.classroom import Class, runs
from transformer.ui.pages import HOME
from transformer.ui.server import visitor

KEPT = (
    "Your first name is seen in the class, your guesses are counted without it, and all of it is "
    "forgotten when you leave or the class ends."
)


def show() -> None:
    code = state.view(Class).code
    if code:
        frame.lead("Press **Join**, and your pages follow your teacher's.")
    else:
        frame.lead("Type the code that your teacher shows, and your pages follow your teacher's.")
    with st.container(width=420):
        _join(code)
        with st.expander("I am the teacher: open a class"):
            _open()


def _join(code: str) -> None:
    with st.form("class-join"):
        typed = st.text_input("Code", code, max_chars=20, placeholder="K7F A2P")
        name = st.text_input(
            "First name (if you like)", max_chars=NAME_LENGTH, autocomplete="given-name"
        )
        if not st.form_submit_button("Join", type="primary"):
            st.caption(KEPT)
            return
    live_classes.classes().join(typed, visitor.owner(), visitor.address(), name)
    state.normalise(code="")
    following.come_back()
    state.start_anew()


def _open() -> None:
    st.markdown(
        "A class needs the token of whoever runs this app: `teacher_token` in limits.toml, or else "
        "the one that its console shows at every start."
    )
    with st.form("class-open", border=False):
        token = st.text_input("Token", type="password", max_chars=200, autocomplete="off")
        name = st.text_input("What students call you", max_chars=NAME_LENGTH)
        if not st.form_submit_button("Open a class"):
            return
    live_classes.classes().open(token, visitor.owner(), visitor.address(), name)
    state.start_anew()


def student(room: Classroom) -> None:
    me = room.member(visitor.known())
    teacher = frame.plain(live_classes.called(room))
    called = f" as **{frame.plain(me.label)}**" if me else ""
    frame.lead(f"You are in the class of **{teacher}**{called}.")
    if room.lead is None:
        st.markdown(
            f"Nobody leads yet. When {teacher} does, this page turns to what they look at. Until "
            "then the app is yours."
        )
        frame.link(HOME, "Look around →")
    else:
        st.markdown(
            "Do anything yourself and you are on your own; **Come back** brings you to "
            f"{teacher}'s view again."
        )
        st.button("Come back", key="class-back", type="primary", on_click=following.come_back)
    runs.of_student(room)
    st.button(
        "Leave the class",
        key="class-leave",
        on_click=lambda: live_classes.classes().leave(visitor.known()),
    )
    st.caption(KEPT)
