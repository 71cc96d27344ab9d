"""A sentence read by the model: computed once, kept while there is room, shared by all sessions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock, Semaphore
from typing import Any

import streamlit as st

from transformer.figures import ExplorerData
from transformer.figures.explorer_sides import vectors_of
from transformer.figures.packing import Part
from transformer.inference import Trace
from transformer.measures.registry import SITES, VECTORS
from transformer.ui.address import View
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.models import Model

MAX_BYTES = 96_000_000
"""Bytes of readings that are kept. The newest is kept even if it is larger alone."""
MAX_CPU_SECONDS = 10
"""Seconds of a processor that one rerun of a page may take. The search for a translation of 500
pieces, with four beginnings carried along, takes 2 for the checkpoint en-fr."""


class CachedTrace:
    """A trace, and what the explorer makes of it; made once for all who look at it."""

    def __init__(self, trace: Trace, model: str = "") -> None:
        self.trace, self.model = trace, model

    @cached_property
    def side(self) -> ExplorerData:
        return ExplorerData(self.trace, model=self.model)

    @property
    def size(self) -> int:
        """Bytes, roughly, with all layers packed: they take at most half of what the weights do."""
        return sum(self.trace[name].nbytes for name in self.trace.names) * 3 // 2


class RerunCancellation:
    """The check of `cancelled_by` for a rerun: ends what it computes, for nobody waits any more or
    it has taken too much of the server.

    A rerun hears of the end of its session, or of a newer rerun, where it calls Streamlit; here by
    asking for what a session remembers, which sends nothing to the browser.
    """

    def __init__(self) -> None:
        self._until = time.thread_time() + MAX_CPU_SECONDS

    def __call__(self) -> None:
        """Raises ValueError after `SECONDS`, and whatever Streamlit ends a rerun by."""
        if time.thread_time() > self._until:
            raise ValueError(
                f"This took more than {MAX_CPU_SECONDS} seconds of processor time, the limit for a "
                "page; use a shorter sentence or fewer options."
            )
        _ = "turn" in st.session_state


class NewestRerun:
    """Of one session's reruns only the newest computes, and one at a time.

    Dragging a slider starts a rerun for every place it passes; Streamlit lets those that are
    computing run to their end. Here an older one that waited stops when its turn comes.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._newest = 0

    def draw(self) -> int:
        """A number for this rerun; all before it are out of date."""
        self._newest += 1
        return self._newest

    def check(self, number: int) -> None:
        """Ends this rerun if there is a newer one."""
        if number != self._newest:
            st.stop()


_traces: SizedCache[CachedTrace] = SizedCache(MAX_BYTES, lambda reading: reading.size)
_cpu_slots = Semaphore(os.cpu_count() or 1)


def read(model: Model, view: View) -> CachedTrace:
    """Translate and trace the view's sentence.

    Raises:
        ValueError: if it is empty, too long, or the options do not fit.
    """
    turn: NewestRerun = st.session_state.setdefault("turn", NewestRerun())
    return _cached(model, view.text, view.decoding(), _weight_sites(model), turn)


def greedy(model: Model, text: str, prefix: tuple[int, ...] = ()) -> CachedTrace:
    """The most probable piece at every step, after those of `prefix`.

    Raises:
        ValueError: as `read`, and for pieces that cannot begin a translation.
    """
    turn: NewestRerun = st.session_state.setdefault("turn", NewestRerun())
    options: dict[str, Any] = {"method": "greedy"}
    if prefix:
        options["prefix"] = prefix
    return _cached(model, text, options, _weight_sites(model), turn)


def without_session(model: Model, text: str) -> CachedTrace:
    """As `greedy`, before there is anybody who asks."""
    return _cached(model, text, {"method": "greedy"}, _weight_sites(model))


def comparison(model: Model, view: View) -> CachedTrace:
    """The view's other sentence, or the same one, by `model`.

    Raises:
        ValueError: as `read`.
    """
    text = view.other or view.text
    # A translation of one's own belongs to its own sentence.
    options = {"method": "greedy"} if view.method == "forced" and view.other else view.decoding()
    return _cached(model, text, options, _weight_sites(model))


def with_forced_token(model: Model, view: View, reading: CachedTrace, force: str) -> CachedTrace:
    """The translation with another piece forced at one step (`force`), free afterwards.

    Raises:
        ValueError: if there is no such step, or the piece cannot stand there.
    """
    step, piece = map(int, force.split(":"))
    ids = reading.trace.translation.ids
    if step >= len(ids):
        raise ValueError(f"There is no step {step} to change; the last one is {len(ids) - 1}.")
    options = {"method": "greedy"} if view.method == "forced" else view.decoding()
    prefix = (*ids[:step], piece)
    return _cached(model, view.text, {**options, "prefix": prefix}, _weight_sites(model))


def vectors(model: Model, reading: CachedTrace, kind: str, layer: int, head: int) -> list[Part]:
    """Queries, keys, values, scores and output of one head, of the pass that `reading` is of."""
    site = SITES[kind].format(layer) + "hook_"
    trace = sites(model, reading, [site + name for name in VECTORS])
    return vectors_of(trace, kind, layer, head)


def sites(model: Model, reading: CachedTrace, names: list[str]) -> Trace:
    """These sites of the same pass."""
    done = reading.trace.translation
    return _cached(model, done.source, {"target": done.ids}, names).trace


def with_sites(model: Model, reading: CachedTrace, names: list[str]) -> Trace:
    """The trace of `reading` with these sites besides what it has."""
    more = sites(model, reading, names)
    return replace(reading.trace, tensors={**reading.trace.tensors, **more.tensors})


def full_trace(model: Model, reading: CachedTrace) -> Trace:
    """Every site of the same pass, for a file to keep; not kept here."""
    done = reading.trace.translation
    with _cpu_slots:
        trace = model.translator.trace(done.source, target=done.ids)
    return replace(trace, translation=done)


def _weight_sites(model: Model) -> list[str]:
    return [name for name in model.translator.model.hook_names if name.endswith("hook_weights")]


def _cached(
    model: Model,
    text: str,
    options: dict[str, Any],
    names: list[str],
    turn: NewestRerun | None = None,
) -> CachedTrace:
    """A trace of the sites `names`, from what is kept or made now."""
    key = (model.hash, text, *sorted(options.items()), *names)

    def make() -> CachedTrace:
        return CachedTrace(model.translator.trace(text, names=names, **options), model.name)

    return get_or_make(key, partial(_with_length_penalty, model, key, options, make), turn)


def _with_length_penalty(
    model: Model, key: tuple[Any, ...], options: dict[str, Any], make: Callable[[], CachedTrace]
) -> CachedTrace:
    """What `make` gives; after a beam search with another length penalty, what that found."""
    penalty = options.get("length_penalty")
    if penalty is None:
        return make()
    search = tuple(item for item in key if item != ("length_penalty", penalty))
    before = _traces.get(search)
    trace = before and model.translator.with_penalty(before.trace, penalty)
    reading = CachedTrace(trace, model.name) if trace else make()
    _traces.put(search, reading)
    return reading


def get_or_make(
    key: Hashable, make: Callable[[], CachedTrace], turn: NewestRerun | None = None
) -> CachedTrace:
    """What `make` gives, from what is kept or made now; with a `turn` only if no newer rerun of
    this session has begun."""
    number = turn.draw() if turn else 0
    cached_trace = _traces.get(key)
    if cached_trace is not None:
        return cached_trace
    with turn.lock if turn else nullcontext():
        if turn:
            turn.check(number)
        with _cpu_slots:
            if turn:
                turn.check(number)
            cached_trace = _traces.get(key)  # another session may have asked for the same meanwhile
            if cached_trace is None:
                cached_trace = make()
                _traces.put(key, cached_trace)
    return cached_trace
