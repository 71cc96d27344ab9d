"""The teacher of a class: its code, link and picture for the wall, who is there, and its end."""

from __future__ import annotations

import io
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import show_code
from transformer.ui import following, frame, live_classes
from transformer.ui.classroom import runs
from transformer.ui.kit.fragment import fragment
from transformer.ui.pages import HOME
from transformer.ui.server import visitor
from transformer.ui.shell.addresses import ANY_ADDRESS, LOCAL_NAMES, network_address

EVERY = 2.0
"""Seconds between two looks at who is there."""
SCALE = 8
"""Pixels of one module of the QR picture."""


def show(room: Classroom) -> None:
    """What stands on the wall while the class comes in, and the way on."""
    link, alone = _link(room.code)
    short = urlsplit(link)
    invite, there = st.columns([2, 3], gap="large")
    with invite:
        st.markdown(f"Open **{frame.plain(short.netloc + short.path)}** and type")
        with st.container(key="class-code"):
            st.markdown(show_code(room.code))
        st.image(picture(link), width=240, alt=f"QR picture of {link}")
        st.caption(frame.plain(link))
        if alone:
            st.warning(
                "Only this machine can open that address. For the room, start the app with "
                "`--server.address 0.0.0.0`."
            )
    with there:
        fragment(_members, "class-members", EVERY)(room)
        if room.leads:
            st.markdown(
                "You lead: every page that you go to, every sentence and head, is on the screens "
                "of those who follow. In **Lessons** their guesses come together, and you show "
                "them when it is time."
            )
        else:
            st.markdown("Nobody is led now; everybody looks where they like.")
            st.button("Lead the class", key="class-lead-here", on_click=following.begin_leading)
        frame.link(HOME, "Begin →")
        with st.popover("Close the class"):
            st.markdown("The code, all names and all answers are gone then.")
            st.button(
                "Close it",
                key="class-close",
                type="primary",
                on_click=lambda: live_classes.classes().end(visitor.known()),
            )
    runs.show(room)


def _members(room: Classroom) -> None:
    members = room.members()
    if not members:
        st.header("Nobody is here yet")
        return
    st.header("1 is here" if len(members) == 1 else f"{len(members)} are here")
    st.markdown(" · ".join(frame.plain(one.label) for one in members))


def picture(link: str) -> bytes:
    """The link as a QR picture, PNG, dark on white on every theme, with its quiet border."""
    out = io.BytesIO()
    segno.make_qr(link, error="m").save(out, kind="png", scale=SCALE, border=4)
    return out.getvalue()


def _link(code: str) -> tuple[str, bool]:
    """Where a student's browser finds this class, and whether only this machine does."""
    here = urlsplit(st.context.url or "http://localhost:8501/class")
    host, port = here.hostname or "", here.port
    alone = host in LOCAL_NAMES
    bound = str(st.get_option("server.address") or ANY_ADDRESS[0])
    if alone and bound in ANY_ADDRESS and (room := network_address()):
        host, alone = room, False
    named = f"[{host}]" if ":" in host else host
    place = f"{named}:{port}" if port else named
    return urlunsplit((here.scheme, place, here.path, f"code={code}", "")), alone
