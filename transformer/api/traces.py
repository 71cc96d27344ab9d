"""Traces of sentences, computed once and cached for all visitors within a memory limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from transformer.api.addresses import known_addresses
from transformer.api.fair_slots import FairSlots
from transformer.api.models import Model
from transformer.api.sized_cache import SizedCache
from transformer.figures import PackedTrace
from transformer.hooks import Hooks
from transformer.inference import Trace

MAX_BYTES = 48_000_000
"""Maximum bytes of cached traces. The newest is kept even if it is larger."""
MAX_CPU_SECONDS = 10
"""Seconds of CPU time that one request or one rerun of a page may take. Beam search with size 4 for
a translation of 500 tokens takes 2 seconds with the checkpoint en-fr."""
cpu_slots = FairSlots(os.cpu_count() or 1, known_addresses.network_of)
"""Every translation takes one of these slots, so that visitors share the processors."""


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


class Cancellation:
    """Callback for `cancelled_by`: stops a computation that is outdated or exceeds its CPU time,
    and lets other visitors compute in between."""

    def __init__(self, check_outdated: Callable[[], object]) -> None:
        """`check_outdated` raises an exception if nobody waits for the result any more."""
        self._until, self._check = time.thread_time() + MAX_CPU_SECONDS, check_outdated

    def __call__(self) -> None:
        """Raise ValueError after `MAX_CPU_SECONDS`, or what `check_outdated` raises."""
        if time.thread_time() > self._until:
            raise ValueError(
                f"This took more than {MAX_CPU_SECONDS} seconds of CPU time, the limit; "
                "use a shorter sentence or fewer options."
            )
        self._check()
        cpu_slots.give_way()


_traces: SizedCache[CachedTrace] = SizedCache(MAX_BYTES, lambda cached_trace: cached_trace.size)


def cached_trace(
    visitor: str,
    model: Model,
    text: str,
    options: Mapping[str, Any],
    names: Sequence[str] = (),
    changes: Hashable = (),
    make_hooks: Callable[[], Hooks | None] = lambda: None,
) -> CachedTrace:
    """Return a trace from the cache, or translate and trace the text.

    Args:
        visitor: for whom it is computed; visitors take turns.
        options: those of `Translator.trace`.
        names: hook points to record, by default all weights.
        changes: identifies what `make_hooks` returns, which is called for a new trace only.

    Raises:
        ValueError: if the text is empty or too long, or the options do not fit.
    """
    names = names or [n for n in model.translator.model.hook_names if n.endswith("hook_weights")]
    key = (model.hash, text, *sorted(options.items()), changes, *names)
    if (known := _traces.get(key)) is not None:
        return known
    hooks = make_hooks()  # before the computation, because it may need traces itself

    def make() -> CachedTrace:
        trace = model.translator.trace(text, names=names, hooks=hooks, **options)
        return CachedTrace(trace, model.name)

    return get_or_make(visitor, key, partial(_with_length_penalty, model, key, options, make))


def _with_length_penalty(
    model: Model,
    key: tuple[Any, ...],
    options: Mapping[str, Any],
    make: Callable[[], CachedTrace],
) -> CachedTrace:
    """Reuse a beam search with another length penalty if possible; otherwise call `make`."""
    penalty = options.get("length_penalty")
    if penalty is None:
        return make()
    search = tuple(item for item in key if item != ("length_penalty", penalty))
    similar_trace = _traces.get(search)
    trace = similar_trace and model.translator.with_penalty(similar_trace.trace, penalty)
    result = CachedTrace(trace, model.name) if trace else make()
    _traces.put(search, result)
    return result


def get_or_make(visitor: str, key: Hashable, make: Callable[[], CachedTrace]) -> CachedTrace:
    """Return the cached trace, or compute it with `make`, once for all that wait for it."""
    if cpu_slots.has_slot():
        # Within another computation: waiting here, with its slot, could block both for ever.
        if (known := _traces.get(key)) is None:
            known = make()
            _traces.put(key, known)
        return known

    def make_in_slot() -> CachedTrace:
        with cpu_slots.slot(visitor):
            return make()

    return _traces.get_or_make(key, make_in_slot)


def hook_points(visitor: str, model: Model, traced: Trace, names: Sequence[str]) -> Trace:
    """Trace other hook points of the same forward pass."""
    translation = traced.translation
    return cached_trace(
        visitor, model, translation.source, {"target": translation.ids}, names
    ).trace


def full_trace(visitor: str, model: Model, traced: Trace) -> Trace:
    """Trace every hook point of the same forward pass, for a download; not cached."""
    translation = traced.translation
    with cpu_slots.slot(visitor):
        trace = model.translator.trace(translation.source, target=translation.ids)
    return replace(trace, translation=translation)
