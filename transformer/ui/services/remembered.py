"""What pages compute or draw once for all reruns and sessions, kept while there is room for it,
counted in bytes."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar, cast

import streamlit as st
import torch

from transformer.inference import Trace

Value = TypeVar("Value")

_NOTHING = type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, torch.nn.Module
_OBJECT = 64
"""Bytes of a Python object, roughly, besides what it holds."""
ROOM = 64_000_000
"""Bytes of all that is remembered."""
Function = TypeVar("Function", bound=Callable[..., Any])


def weigh(value: object) -> int:
    """Bytes that a value holds, roughly: arrays, tensors, tables and texts, however deep within
    containers and objects, each counted once; of models and functions nothing, for they are
    somebody else's."""
    seen: set[int] = set()
    ahead, total = [value], 0
    while ahead:
        one = ahead.pop()
        if id(one) in seen or isinstance(one, _NOTHING):
            continue
        seen.add(id(one))
        total += _OBJECT
        if isinstance(one, str | bytes | bytearray | int | float):
            total += sys.getsizeof(one)
        elif isinstance(bytes_of := getattr(one, "nbytes", None), int):
            total += bytes_of
        elif hasattr(one, "memory_usage"):
            total += _of_table(one)
        elif hasattr(one, "to_plotly_json"):
            ahead.append(one.to_plotly_json())
        elif isinstance(one, Mapping):
            ahead += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            ahead += one
        else:
            ahead += getattr(one, "__dict__", {}).values()
            slots = getattr(type(one), "__slots__", ())
            ahead += [getattr(one, name, None) for name in slots if isinstance(name, str)]
    return total


def _of_table(table: Any) -> int:
    used = table.memory_usage(deep=True)
    return int(used.sum() if hasattr(used, "sum") else used)


@dataclass
class _Making:
    """A value that is being made, and how many threads ask for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    asked: int = 0


class Kept(Generic[Value]):
    """Values by key. Those that were not asked for longest make room for new ones.

    Args:
        room: bytes of all together; the newest is kept even if it is larger alone.
        size: bytes of one, asked when it comes.
    """

    def __init__(self, room: int, size: Callable[[Value], int] = weigh) -> None:
        self.room, self._size = room, size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._making: dict[Hashable, _Making] = {}
        self._held = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def held(self) -> int:
        return self._held

    def get(self, key: Hashable) -> Value | None:
        """What is kept, now used last; None if nothing is."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Keep this, in place of what was kept under the key."""
        size = self._size(value)
        with self._lock:
            self._held += size - self._kept.pop(key, (value, 0))[1]
            self._kept[key] = value, size
            while len(self._kept) > 1 and self._held > self.room:
                _, (_, gone) = self._kept.popitem(last=False)
                self._held -= gone

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._held = 0

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What is kept, or what `make` gives: made once, however many threads ask at a time."""
        if (found := self.get(key)) is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, _Making())
            making.asked += 1
        try:
            with making.lock:
                if (found := self.get(key)) is None:
                    found = make()
                    self.put(key, found)
                return found
        finally:
            with self._lock:
                making.asked -= 1
                if not making.asked:
                    del self._making[key]


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
