"""How students reach a class: its address, code and QR code."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from transformer.classroom import Classroom
from transformer.classroom.codes import show_code
from transformer.ui.base.registry import CLASS, path
from transformer.ui.server.security import ANY_ADDRESS, LOCAL_NAMES, network_address
from transformer.ui.services import live_classes
from transformer.ui.widgets import frame

_SMALL = "class-invitation-small"
QR_WIDTH, SMALL_QR_WIDTH = 240, 96
"""In pixels."""


def show(classroom: Classroom) -> None:
    """Draw address, code and QR code: large until all have joined or the plan has begun."""
    base, local_only = app_address()
    link = f"{base}{path(CLASS)}?code={classroom.code}"
    is_small = st.session_state.get(_SMALL, classroom.progress.current is not None)
    if is_small:
        with st.container(horizontal=True, vertical_alignment="center", key="class-small-code"):
            st.image(qr_code(link), width=SMALL_QR_WIDTH, alt=f"QR code for {link}")
            st.markdown(f"Code **{show_code(classroom.code)}**")
    else:
        parts = urlsplit(link)
        st.markdown(f"Open **{frame.plain(parts.netloc + parts.path)}** and enter the code")
        with st.container(key="class-code"):
            st.markdown(show_code(classroom.code))
        st.image(qr_code(link), width=QR_WIDTH, alt=f"QR code for {link}")
        st.caption(frame.plain(link))
    st.button(
        "Show the code large" if is_small else "All have joined",
        key="class-invitation-size",
        help="Makes the code small, or large again.",
        on_click=lambda: st.session_state.update({_SMALL: not is_small}),
    )
    if local_only and live_classes.is_teacher():
        st.warning(
            "Only this machine can open that address. To let students connect, start the app "
            "with `--server.address 0.0.0.0`."
        )


def qr_code(link: str) -> str:
    """Return an SVG of the link's QR code: dark on white in every theme, with its quiet zone.

    Streamlit writes SVG into the page. An image would be a file, which it deletes with the class.
    """
    return segno.make_qr(link, error="m").svg_inline(border=4, light="#fff", omitsize=True)


def app_address() -> tuple[str, bool]:
    """Return the address of the app in the network, with a final slash, and whether only this
    machine can open it."""
    page_url = urlsplit(st.context.url or f"http://localhost:8501/{path(CLASS)}")
    host, port = page_url.hostname or "", page_url.port
    local_only = host in LOCAL_NAMES
    bound = str(st.get_option("server.address") or ANY_ADDRESS[0])
    if local_only and bound in ANY_ADDRESS and (network_host := network_address()):
        host, local_only = network_host, False
    bracketed_host = f"[{host}]" if ":" in host else host
    netloc = f"{bracketed_host}:{port}" if port else bracketed_host
    folder = page_url.path.removesuffix(path(CLASS))
    return urlunsplit((page_url.scheme, netloc, folder, "", "")), local_only
