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

_NOT_COUNTED = type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, torch.nn.Module
_OBJECT_BYTES = 64
"""Bytes of a Python object, roughly, besides what it holds."""
MAX_BYTES = 64_000_000
"""Bytes of all that is remembered."""
Function = TypeVar("Function", bound=Callable[..., Any])


def estimate_bytes(value: object) -> int:
    """Bytes that a value holds, roughly: arrays, tensors, tables and texts, however deep within
    containers and objects, each counted once; of models and functions nothing, for they are
    somebody else's."""
    counted_ids: set[int] = set()
    ahead, total = [value], 0
    while ahead:
        item = ahead.pop()
        if id(item) in counted_ids or isinstance(item, _NOT_COUNTED):
            continue
        counted_ids.add(id(item))
        total += _OBJECT_BYTES
        if isinstance(item, str | bytes | bytearray | int | float):
            total += sys.getsizeof(item)
        elif isinstance(bytes_of := getattr(item, "nbytes", None), int):
            total += bytes_of
        elif hasattr(item, "memory_usage"):
            total += _table_bytes(item)
        elif hasattr(item, "to_plotly_json"):
            ahead.append(item.to_plotly_json())
        elif isinstance(item, Mapping):
            ahead += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            ahead += item
        else:
            ahead += getattr(item, "__dict__", {}).values()
            slots = getattr(type(item), "__slots__", ())
            ahead += [getattr(item, name, None) for name in slots if isinstance(name, str)]
    return total


def _table_bytes(table: Any) -> int:
    used = table.memory_usage(deep=True)
    return int(used.sum() if hasattr(used, "sum") else used)


@dataclass
class _PendingValue:
    """A value that is being made, and how many threads ask for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class SizedCache(Generic[Value]):
    """Values by key. Those that were not asked for longest make room for new ones.

    Args:
        room: bytes of all together; the newest is kept even if it is larger alone.
        size: bytes of one, asked when it comes.
    """

    def __init__(self, max_bytes: int, size: Callable[[Value], int] = estimate_bytes) -> None:
        self.max_bytes, self._size = max_bytes, size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._pending: dict[Hashable, _PendingValue] = {}
        self._used_bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def used_bytes(self) -> int:
        return self._used_bytes

    def get(self, key: Hashable) -> Value | None:
        """What is kept, now used last; None if nothing is."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Keep this, in place of what was kept under the key."""
        size = self._size(value)
        with self._lock:
            self._used_bytes += size - self._values.pop(key, (value, 0))[1]
            self._values[key] = value, size
            while len(self._values) > 1 and self._used_bytes > self.max_bytes:
                _, (_, removed_bytes) = self._values.popitem(last=False)
                self._used_bytes -= removed_bytes

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._used_bytes = 0

    def get_or_make(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What is kept, or what `make` gives: made once, however many threads ask at a time."""
        if (value := self.get(key)) is not None:
            return value
        with self._lock:
            making = self._pending.setdefault(key, _PendingValue())
            making.waiting += 1
        try:
            with making.lock:
                if (value := self.get(key)) is None:
                    value = make()
                    self.put(key, value)
                return value
        finally:
            with self._lock:
                making.waiting -= 1
                if not making.waiting:
                    del self._pending[key]


results: SizedCache[tuple[Any]] = SizedCache(MAX_BYTES)


def cached(spinner: str = "") -> Callable[[Function], Function]:
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
        qualified_name = f"{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            key = (qualified_name, *(_cache_key(args[at]) for at in counts))

            def make() -> tuple[Any]:
                with st.spinner(spinner) if spinner else nullcontext():
                    return (function(*args),)

            return results.get_or_make(key, make)[0]

        return cast(Function, call)

    return decorate


def _cache_key(argument: Any) -> Any:
    if isinstance(argument, Trace):
        return argument.source, argument.src_ids, argument.predicted_ids
    return getattr(argument, "hash", argument)
