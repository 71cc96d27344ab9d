"""A fragment: a part of a page that draws itself anew while the rest stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

P = ParamSpec("P")
EVERY = 0.7
"""Seconds between two looks at something that goes on elsewhere."""


def fragment(draw: Callable[P, None], key: str, every: float | None = None) -> Callable[P, None]:
    """A fragment in a container of its own, sent whole; drawn anew every so many seconds.

    As a fragment is asked for, Streamlit throws away what the page before has drawn of it and not
    sent yet, but sends what it does not know for the fragment's (`ForwardMsgQueue.clear`): what
    stands after it, and, of what stands in it, each reference to an element of more than 10 kB
    that the browser has already. Where either has its place among what was thrown away, the
    browser finds a place left free, and the page stays empty. So a fragment has nothing after it
    in its container, and sends no references; a place elsewhere that it fills wants a container
    as well.
    """

    @wraps(draw)
    def whole(*args: P.args, **kwargs: P.kwargs) -> None:
        with _no_references():
            draw(*args, **kwargs)

    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with st.container():
            st.fragment(whole, run_every=every, key=key)(*args, **kwargs)

    return drawn


@contextmanager
def _no_references() -> Iterator[None]:
    """Meanwhile this run believes that the browser has kept nothing."""
    context = get_script_run_ctx()
    if context is None:  # outside the app, nothing is sent
        yield
        return
    kept, context.cached_message_hashes = context.cached_message_hashes, frozenset()
    try:
        yield
    finally:
        context.cached_message_hashes = kept
