"""Traces of sentences, computed once and cached for all sessions within a memory limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import streamlit as st

from transformer.analysis.interventions.switching import named_heads, switched_off
from transformer.figures import PackedTrace
from transformer.figures.packed_trace import query_key_vectors
from transformer.figures.packing import Part
from transformer.hooks import Hooks
from transformer.inference import Trace
from transformer.measures.kinds import AttentionKind
from transformer.measures.registry import SITES, VECTORS
from transformer.ui.base import visitor
from transformer.ui.base.address import View
from transformer.ui.services.fair_slots import FairSlots
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.models import Model

MAX_BYTES = 48_000_000
"""Maximum bytes of cached traces. The newest is kept even if it is larger."""
MAX_CPU_SECONDS = 10
"""Seconds of CPU time that one rerun of a page may take. Beam search with size 4 for a translation
of 500 tokens takes 2 seconds with the checkpoint en-fr."""


class CachedTrace:
    """A trace, also packed for the explorer, shared by all sessions that show it."""

    def __init__(self, trace: Trace, model: str = "") -> None:
        self.trace, self.model = trace, model

    @cached_property
    def packed(self) -> PackedTrace:
        return PackedTrace(self.trace, model=self.model)

    @property
    def size(self) -> int:
        """Approximate bytes of the trace, also packed for the explorer."""
        return sum(self.trace[name].nbytes for name in self.trace.names) * 3 // 2


class RerunCancellation:
    """Callback for `cancelled_by`: stops a rerun that is outdated or exceeds its CPU time, and
    lets other visitors compute in between.

    Dragging a slider starts a rerun for every value that it passes. Streamlit stops an outdated
    rerun, or one of a closed session, at its next use of Streamlit.
    The callback therefore reads the session state, which sends nothing to the browser.
    """

    def __init__(self) -> None:
        self._until = time.thread_time() + MAX_CPU_SECONDS

    def __call__(self) -> None:
        """Raise ValueError after `MAX_CPU_SECONDS`, or stop an outdated rerun."""
        if time.thread_time() > self._until:
            raise ValueError(
                f"This took more than {MAX_CPU_SECONDS} seconds of CPU time, the limit for a page; "
                "use a shorter sentence or fewer options."
            )
        _ = "visitor" in st.session_state
        _cpu_slots.give_way()


_traces: SizedCache[CachedTrace] = SizedCache(MAX_BYTES, lambda cached_trace: cached_trace.size)
_cpu_slots = FairSlots(os.cpu_count() or 1)


def read(model: Model, view: View) -> CachedTrace:
    """Translate and trace the view's sentence.

    Raises:
        ValueError: if it is empty, too long, or the options do not fit.
    """
    return _cached(model, view.text, view.decoding())


def greedy(model: Model, text: str, prefix: tuple[int, ...] = (), off: str = "") -> CachedTrace:
    """Translate greedily and trace, with the target tokens `prefix` forced at the beginning and
    without the heads `off`, as in `parse_heads`.

    Raises:
        ValueError: see `read`; also if no translation can begin with `prefix`, or for a head that
            the model does not have.
    """
    options: dict[str, Any] = {"method": "greedy"}
    if prefix:
        options["prefix"] = prefix
    if off:
        options["off"] = off
    return _cached(model, text, options)


def comparison(model: Model, view: View) -> CachedTrace:
    """Trace the view's other sentence, by default the same one, with `model`.

    Raises:
        ValueError: see `read`.
    """
    text = view.other or view.text
    # A forced translation belongs to the first sentence.
    options = {"method": "greedy"} if view.method == "forced" and view.other else view.decoding()
    return _cached(model, text, options)


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
    return _cached(model, view.text, {**options, "prefix": prefix})


def vectors(
    model: Model, cached_trace: CachedTrace, kind: AttentionKind, layer: int, head: int
) -> list[Part]:
    """Return queries, keys, values, scores and output of one head, from the same forward pass."""
    prefix = SITES[kind].format(layer) + "hook_"
    trace = hook_points(model, cached_trace, [prefix + name for name in VECTORS])
    return query_key_vectors(trace, kind, layer, head)


def hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Trace other hook points of the same forward pass."""
    translation = cached_trace.trace.translation
    return _cached(model, translation.source, {"target": translation.ids}, names).trace


def with_hook_points(model: Model, cached_trace: CachedTrace, names: list[str]) -> Trace:
    """Return the trace with these hook points added."""
    added = hook_points(model, cached_trace, names)
    return replace(cached_trace.trace, tensors={**cached_trace.trace.tensors, **added.tensors})


def full_trace(model: Model, cached_trace: CachedTrace) -> Trace:
    """Trace every hook point of the same forward pass, for a download; not cached."""
    translation = cached_trace.trace.translation
    with _cpu_slots.slot(visitor.ensure_id()):
        trace = model.translator.trace(translation.source, target=translation.ids)
    return replace(trace, translation=translation)


def heads_off(model: Model, off: str) -> Hooks | None:
    """Return the hooks that switch off the heads `off`, as in `parse_heads`; None for no head.

    Raises:
        ValueError: for a head that the model does not have.
    """
    config = model.translator.model.config
    return switched_off(config, named_heads(config, off)) if off else None


def _cached(
    model: Model,
    text: str,
    options: dict[str, Any],
    names: list[str] | None = None,
) -> CachedTrace:
    """Return a trace of the hook points `names`, by default all weights, cached or new."""
    if names is None:
        names = [
            name for name in model.translator.model.hook_names if name.endswith("hook_weights")
        ]
    key = (model.hash, text, *sorted(options.items()), *names)

    def make() -> CachedTrace:
        without_heads = {name: value for name, value in options.items() if name != "off"}
        hooks = heads_off(model, options.get("off", ""))
        trace = model.translator.trace(text, names=names, hooks=hooks, **without_heads)
        return CachedTrace(trace, model.name)

    make_similar = partial(_with_length_penalty, model, key, options, make)
    return get_or_make(key, make_similar)


def _with_length_penalty(
    model: Model, key: tuple[Any, ...], options: dict[str, Any], make: Callable[[], CachedTrace]
) -> CachedTrace:
    """Reuse a beam search with another length penalty if possible; otherwise call `make`."""
    penalty = options.get("length_penalty")
    if penalty is None:
        return make()
    search = tuple(item for item in key if item != ("length_penalty", penalty))
    similar_trace = _traces.get(search)
    trace = similar_trace and model.translator.with_penalty(similar_trace.trace, penalty)
    cached_trace = CachedTrace(trace, model.name) if trace else make()
    _traces.put(search, cached_trace)
    return cached_trace


def get_or_make(key: Hashable, make: Callable[[], CachedTrace]) -> CachedTrace:
    """Return the cached trace, or compute it with `make`."""
    cached_trace = _traces.get(key)
    if cached_trace is None:
        with _cpu_slots.slot(visitor.ensure_id()):
            cached_trace = _traces.get(key)  # another session may have computed it meanwhile
            if cached_trace is None:
                cached_trace = make()
                _traces.put(key, cached_trace)
    return cached_trace
