"""The ways to the rooms: a card for each, with a picture, and all of it to be clicked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.rooms import STYLE, room_picture
from transformer.ui.shell.registry import PAGES, path
from transformer.ui.widgets import frame
from transformer.ui.widgets.lessons.course import LESSONS


def show() -> None:
    with st.container(horizontal=True, key="rooms"):
        for file, one in PAGES.items():
            if not one.way:
                continue
            with st.container(border=True, gap="xsmall", key=f"room-{path(file)}"):
                _picture(path(file))(key=f"picture-{path(file)}", data={})
                # Its link covers the whole card: `frame.css`.
                frame.link(file, one.way)
                st.caption(one.what.format(lessons=len(LESSONS)))


@cache
def _picture(name: str) -> Callable[..., Any]:
    """What mounts the picture: HTML of a page may hold none that is drawn."""
    return st.components.v2.component(f"heads_up.room-{name}", html=room_picture(name), css=STYLE)
