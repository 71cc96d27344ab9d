"""A fragment: a part of a page that draws itself anew while the rest stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

import streamlit as st

P = ParamSpec("P")
EVERY = 0.7
"""Seconds between two looks at something that goes on elsewhere."""


def fragment(draw: Callable[P, None], key: str, every: float | None = None) -> Callable[P, None]:
    """A fragment in a container of its own; drawn anew every so many seconds.

    As a fragment is asked for, Streamlit throws away what the page before has drawn of it and not
    sent yet, but sends what stands after it (`ForwardMsgQueue.clear`). Where that has the same
    parent, the browser finds a place left free, and the page stays empty. In its own container a
    fragment has nothing after it; a place elsewhere that it fills wants one as well.
    """

    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with st.container():
            st.fragment(draw, run_every=every, key=key)(*args, **kwargs)

    return drawn
