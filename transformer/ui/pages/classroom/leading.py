"""The teacher's page of a class: its code, link and QR code, its students, and its end."""

from __future__ import annotations

import io
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import show_code
from transformer.ui.pages.classroom import runs
from transformer.ui.services import live_classes
from transformer.ui.shell import visitor
from transformer.ui.shell.addresses import ANY_ADDRESS, LOCAL_NAMES, network_address
from transformer.ui.shell.registry import HOME
from transformer.ui.widgets import following, frame
from transformer.ui.widgets.fragment import fragment

EVERY = 2.0
"""Seconds between two reruns of the list of students."""
SCALE = 8
"""Pixels of one module of the QR code."""


def show(room: Classroom) -> None:
    """Draw what the class sees on the projector while students join, and the controls."""
    link, alone = _link(room.code)
    short = urlsplit(link)
    invite, there = st.columns([2, 3], gap="large")
    with invite:
        st.markdown(f"Open **{frame.plain(short.netloc + short.path)}** and enter the code")
        with st.container(key="class-code"):
            st.markdown(show_code(room.code))
        st.image(picture(link), width=240, alt=f"QR code for {link}")
        st.caption(frame.plain(link))
        if alone:
            st.warning(
                "Only this machine can open that address. To let students connect, start the app "
                "with `--server.address 0.0.0.0`."
            )
    with there:
        fragment(_members, "class-members", EVERY)(room)
        if room.leads:
            st.markdown(
                "You are leading: every page, sentence and head that you open is shown to the "
                "students who follow. In **Lessons** the class answers together, and you decide "
                "when to show the answers."
            )
        else:
            st.markdown("You are not leading; every student explores on their own.")
            st.button("Lead the class", key="class-lead-here", on_click=following.begin_leading)
        frame.link(HOME, "Start →")
        with st.popover("End the class …"):
            st.markdown("This deletes the code, all names and all answers.")
            st.button(
                "End the class",
                key="class-close",
                type="primary",
                on_click=lambda: live_classes.classes().end(visitor.known()),
            )
    runs.show(room)


def _members(room: Classroom) -> None:
    members = room.members()
    if not members:
        st.header("No students yet")
        return
    st.header(f"{len(members)} joined")
    st.markdown(" · ".join(frame.plain(one.label) for one in members))


def picture(link: str) -> bytes:
    """The link as a QR code: PNG, dark on white in every theme, with its quiet zone."""
    out = io.BytesIO()
    segno.make_qr(link, error="m").save(out, kind="png", scale=SCALE, border=4)
    return out.getvalue()


def _link(code: str) -> tuple[str, bool]:
    """The address of this class for students, and whether only this machine can open it."""
    here = urlsplit(st.context.url or "http://localhost:8501/class")
    host, port = here.hostname or "", here.port
    alone = host in LOCAL_NAMES
    bound = str(st.get_option("server.address") or ANY_ADDRESS[0])
    if alone and bound in ANY_ADDRESS and (room := network_address()):
        host, alone = room, False
    named = f"[{host}]" if ":" in host else host
    place = f"{named}:{port}" if port else named
    return urlunsplit((here.scheme, place, here.path, f"code={code}", "")), alone
