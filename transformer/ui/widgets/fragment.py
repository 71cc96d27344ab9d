"""A fragment: a part of a page that reruns without the rest of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from transformer.ui.base.streamlit_fixes.fragment_references import without_references

P = ParamSpec("P")
POLL_SECONDS = 0.7
"""Seconds between two reruns of a fragment that shows something in progress."""


def fragment(draw: Callable[P, None], key: str, every: float | None = None) -> Callable[P, None]:
    """Return `draw` as a fragment in a container of its own, rerun every `every` seconds.

    Draw nothing into the container after the fragment. A fragment that draws into a container
    outside of it must first make one there: `streamlit_fixes.fragment_references` says why.
    """

    @wraps(draw)
    def in_full(*args: P.args, **kwargs: P.kwargs) -> None:
        with without_references():
            draw(*args, **kwargs)

    def in_container(*args: P.args, **kwargs: P.kwargs) -> None:
        with st.container():
            st.fragment(in_full, run_every=every, key=key)(*args, **kwargs)

    return in_container
