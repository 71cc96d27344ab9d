"""Traces for the session's view, from the cache that all visitors share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import streamlit as st

from transformer.api import traces
from transformer.api.traces import CachedTrace as CachedTrace
from transformer.api.traces import Cancellation
from transformer.inference import Trace
from transformer.ui.base import visitor
from transformer.ui.base.address import View
from transformer.ui.services.models import Model


class RerunCancellation(Cancellation):
    """Callback for `cancelled_by` that stops an outdated rerun.

    Dragging a slider starts a rerun for every value that it passes. Streamlit stops an outdated
    rerun, or one of a closed session, at its next use of Streamlit.
    The callback therefore reads the session state, which sends nothing to the browser.
    """

    def __init__(self) -> None:
        super().__init__(lambda: "visitor" in st.session_state)


def read(model: Model, view: View) -> CachedTrace:
    """Translate and trace the view's sentence.

    Raises:
        ValueError: if it is empty, too long, or the options do not fit.
    """
    return traces.cached_trace(visitor.ensure_id(), model, view.text, view.decoding())


def greedy(model: Model, text: str) -> CachedTrace:
    """Translate greedily and trace.

    Raises:
        ValueError: see `read`.
    """
    return traces.cached_trace(visitor.ensure_id(), model, text, {"method": "greedy"})


def hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Trace other hook points of the same forward pass."""
    return traces.hook_points(visitor.ensure_id(), model, cached_trace.trace, names)


def with_hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Return the trace with these hook points added."""
    added = hook_points(model, cached_trace, names)
    return replace(cached_trace.trace, tensors={**cached_trace.trace.tensors, **added.tensors})


def get_or_make(key: Hashable, make: Callable[[], CachedTrace]) -> CachedTrace:
    """Return the cached trace, or compute it with `make`."""
    return traces.get_or_make(visitor.ensure_id(), key, make)
