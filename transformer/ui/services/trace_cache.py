"""Traces for the session's view, from the cache that all visitors share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import streamlit as st

from transformer.api import traces
from transformer.api.traces import CachedTrace as CachedTrace
from transformer.api.traces import Cancellation
from transformer.api.traces import heads_off as heads_off
from transformer.figures.packed_trace import query_key_vectors
from transformer.figures.packing import Part
from transformer.inference import Trace
from transformer.measures.kinds import AttentionKind
from transformer.measures.registry import SITES, VECTORS
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


def greedy(model: Model, text: str, prefix: tuple[int, ...] = (), off: str = "") -> CachedTrace:
    """Translate greedily and trace, with the target tokens `prefix` forced at the beginning and
    without the heads `off`, as in `parse_heads`.

    Raises:
        ValueError: see `read`; also if no translation can begin with `prefix`, or for a head that
            the model does not have.
    """
    options: dict[str, Any] = {"method": "greedy", **({"prefix": prefix} if prefix else {})}
    visitor_id = visitor.ensure_id()
    return traces.cached_trace(
        visitor_id, model, text, options, (), off, lambda: heads_off(model, off)
    )


def comparison(model: Model, view: View) -> CachedTrace:
    """Trace the view's other sentence, by default the same one, with `model`.

    Raises:
        ValueError: see `read`.
    """
    text = view.other or view.text
    # A forced translation belongs to the first sentence.
    options = {"method": "greedy"} if view.method == "forced" and view.other else view.decoding()
    return traces.cached_trace(visitor.ensure_id(), model, text, options)


def with_forced_token(
    model: Model, view: View, cached_trace: CachedTrace, force: str
) -> CachedTrace:
    """Trace the translation with another token forced at one step; decode freely after it.

    Args:
        force: "step:token id".

    Raises:
        ValueError: if there is no such step, or the token is impossible there.
    """
    step, piece = map(int, force.split(":"))
    ids = cached_trace.trace.translation.ids
    if step >= len(ids):
        raise ValueError(f"There is no step {step} to change; the last one is {len(ids) - 1}.")
    options = {"method": "greedy"} if view.method == "forced" else view.decoding()
    prefix = (*ids[:step], piece)
    return traces.cached_trace(visitor.ensure_id(), model, view.text, {**options, "prefix": prefix})


def vectors(
    model: Model, cached_trace: CachedTrace, kind: AttentionKind, layer: int, head: int
) -> list[Part]:
    """Return queries, keys, values, scores and output of one head, from the same forward pass."""
    prefix = SITES[kind].format(layer) + "hook_"
    trace = hook_points(model, cached_trace, [prefix + name for name in VECTORS])
    return query_key_vectors(trace, kind, layer, head)


def hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Trace other hook points of the same forward pass."""
    return traces.hook_points(visitor.ensure_id(), model, cached_trace.trace, names)


def with_hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Return the trace with these hook points added."""
    added = hook_points(model, cached_trace, names)
    return replace(cached_trace.trace, tensors={**cached_trace.trace.tensors, **added.tensors})


def full_trace(model: Model, cached_trace: CachedTrace) -> Trace:
    """Trace every hook point of the same forward pass, for a download; not cached."""
    return traces.full_trace(visitor.ensure_id(), model, cached_trace.trace)


def get_or_make(key: Hashable, make: Callable[[], CachedTrace]) -> CachedTrace:
    """Return the cached trace, or compute it with `make`."""
    return traces.get_or_make(visitor.ensure_id(), key, make)
