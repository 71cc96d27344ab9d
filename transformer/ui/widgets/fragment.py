"""A fragment: a part of a page that reruns without the rest of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

P = ParamSpec("P")
POLL_SECONDS = 0.7
"""Seconds between two reruns of a fragment that shows something in progress."""


def fragment(draw: Callable[P, None], key: str, every: float | None = None) -> Callable[P, None]:
    """Return `draw` as a fragment in a container of its own, rerun every `every` seconds.

    Draw nothing into the container after the fragment, and nothing in the fragment into another
    container: when a fragment's rerun begins, Streamlit drops what is queued of the page after it.
    (It would also drop elements that the browser has cached, hence `global.minCachedMessageSize`.)
    """

    @wraps(draw)
    def in_container(*args: P.args, **kwargs: P.kwargs) -> None:
        with st.container():
            st.fragment(draw, run_every=every, key=key)(*args, **kwargs)

    return in_container
