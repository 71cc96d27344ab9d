"""A student of a class: who leads it, what happens now, and the way out."""

from __future__ import annotations

import streamlit as st

from transformer.classroom import Classroom
from transformer.ui import following, frame, live_classes
from transformer.ui.classroom import class_race
from transformer.ui.classroom.coming import KEPT
from transformer.ui.pages import HOME
from transformer.ui.server import visitor


def show(room: Classroom) -> None:
    """What a student can do here."""
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
    class_race.of_student(room)
    st.button("Leave the class", key="class-leave", on_click=_leave)
    st.caption(KEPT)


def _leave() -> None:
    live_classes.classes().leave(visitor.known())
