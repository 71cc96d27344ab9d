"""A button that gives a file: made when it is pressed, without the page being drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "npz": "application/octet-stream",
    "zip": "application/zip",
}
"""What a file is, by its name's ending."""


def download(
    label: str,
    make: Callable[[], str | bytes],
    name: str,
    *,
    key: str | None = None,
    icon: str | None = None,
    kind: Literal["secondary", "tertiary"] = "secondary",
    about: str | None = None,
) -> None:
    """Draw the button.

    Args:
        make: called outside of the session, when somebody presses it.
        name: of the file, with one of the endings of `MIME`.
        about: what is said of it to who points at it.
    """
    st.download_button(
        label,
        make,
        file_name=name,
        mime=MIME[name.rpartition(".")[2]],
        icon=icon,
        on_click="ignore",
        key=key,
        type=kind,
        help=about,
    )
