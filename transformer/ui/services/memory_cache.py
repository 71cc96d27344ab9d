"""Results of functions that all reruns and sessions share, limited by bytes."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar, cast

import streamlit as st

from transformer.api.addresses import known_addresses
from transformer.api.fair_slots import FairSlots
from transformer.api.sized_cache import SizedCache
from transformer.cancellation import check_cancelled
from transformer.inference import Trace
from transformer.ui.base import visitor

MAX_BYTES = 32_000_000
"""Maximum bytes of all cached results."""
Function = TypeVar("Function", bound=Callable[..., Any])

results: SizedCache[tuple[Any]] = SizedCache(MAX_BYTES)
# Not those of translations, which never wait for other computations.
_slots = FairSlots(os.cpu_count() or 1, known_addresses.network_of)


def cached(spinner: str = "") -> Callable[[Function], Function]:
    """Decorate a function so that it is called once for the same arguments, for all sessions.

    Streamlit's own caches are limited by entries, not bytes, and any browser can clear them. The
    result is shared and must not be changed; errors are not cached. At most one call per processor
    runs at a time, and visitors take turns, so that a class does not need the memory of thirty
    calls.

    Args:
        spinner: text on the page during the call; "" for none.

    Arguments are positional and hashable. A model and a corpus are identified by their `hash`, a
    trace by its text and ids, together with the model. Arguments whose names begin with "_" are
    not part of the key: the others must determine them.
    """

    def decorate(function: Function) -> Function:
        names = [*inspect.signature(function).parameters]
        key_positions = [
            position for position, name in enumerate(names) if not name.startswith("_")
        ]
        qualified_name = f"{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            key = (qualified_name, *(_cache_key(args[position]) for position in key_positions))
            if (value := results.get(key)) is not None:
                return value[0]
            # The slot comes first: who computes a value for which others wait has one.
            with (
                st.spinner(spinner) if spinner else nullcontext(),
                _slots.slot(visitor.ensure_id()),
            ):
                check_cancelled()  # this rerun may be outdated by now
                return results.get_or_make(key, lambda: (function(*args),))[0]

        return cast(Function, call)

    return decorate


def _cache_key(argument: Any) -> Any:
    if isinstance(argument, Trace):
        return argument.source, argument.src_ids, argument.predicted_ids
    return getattr(argument, "hash", argument)
