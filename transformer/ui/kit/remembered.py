"""What pages compute or draw once for all reruns and sessions, kept while there is room."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar, cast

import streamlit as st

from transformer.inference import Trace
from transformer.ui.kit.kept import Kept

ROOM = 64_000_000
"""Bytes of all that is remembered."""
Function = TypeVar("Function", bound=Callable[..., Any])

results: Kept[tuple[Any]] = Kept(ROOM)


def remembered(spinner: str = "") -> Callable[[Function], Function]:
    """A decorator: the function is called once for the same arguments, by whomever.

    Not a cache of Streamlit's: those count entries, not bytes, and any browser may have them
    cleared. What is returned is everyone's and must not be changed; an error is nobody's.

    Args:
        spinner: what the page says while it takes its time.

    Arguments are positional and can be hashed; a model and a corpus are known by their `hash`, a
    trace by its text and ids, beside the model. Those whose names begin with "_" are not looked at:
    others say what they are.
    """

    def decorate(function: Function) -> Function:
        names = [*inspect.signature(function).parameters]
        counts = [at for at, name in enumerate(names) if not name.startswith("_")]
        whole = f"{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def call(*given: Any) -> Any:
            key = (whole, *(_known_by(given[at]) for at in counts))

            def make() -> tuple[Any]:
                with st.spinner(spinner) if spinner else nullcontext():
                    return (function(*given),)

            return results.once(key, make)[0]

        return cast(Function, call)

    return decorate


def _known_by(argument: Any) -> Any:
    if isinstance(argument, Trace):
        return argument.source, argument.src_ids, argument.predicted_ids
    return getattr(argument, "hash", argument)
