"""A cache in memory that threads share, limited by bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar

import torch

Value = TypeVar("Value")

_NOT_COUNTED = type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, torch.nn.Module
_OBJECT_BYTES = 64
"""Approximate bytes of a Python object without its contents."""


def estimate_bytes(value: object) -> int:
    """Return the approximate bytes of a value: arrays, tensors, tables and texts at any depth in
    containers and objects, each counted once. Models and functions are not counted."""
    counted_ids: set[int] = set()
    remaining, total = [value], 0
    while remaining:
        item = remaining.pop()
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
            remaining.append(item.to_plotly_json())
        elif isinstance(item, Mapping):
            remaining += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            remaining += item
        else:
            remaining += getattr(item, "__dict__", {}).values()
            slots = getattr(type(item), "__slots__", ())
            remaining += [getattr(item, name, None) for name in slots if isinstance(name, str)]
    return total


def _table_bytes(table: Any) -> int:
    used = table.memory_usage(deep=True)
    return int(used.sum() if hasattr(used, "sum") else used)


@dataclass
class _PendingValue:
    """A value that is being computed, and the number of threads that wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class SizedCache(Generic[Value]):
    """Values by key; the least recently used ones are removed first.

    Args:
        max_bytes: of all values together; the newest is kept even if it is larger.
        size: returns the bytes of a value; called when the value is stored.
    """

    def __init__(self, max_bytes: int, size: Callable[[Value], int] = estimate_bytes) -> None:
        self.max_bytes, self._size = max_bytes, size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._pending: dict[Hashable, _PendingValue] = {}
        self._used_bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Value | None:
        """Return the value and mark it as used; None if there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Store a value, replacing an earlier one with this key."""
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
        """Return the cached value, or compute it with `make`, once for all waiting threads."""
        if (value := self.get(key)) is not None:
            return value
        with self._lock:
            pending = self._pending.setdefault(key, _PendingValue())
            pending.waiting += 1
        try:
            with pending.lock:
                if (value := self.get(key)) is None:
                    value = make()
                    self.put(key, value)
                return value
        finally:
            with self._lock:
                pending.waiting -= 1
                if not pending.waiting:
                    del self._pending[key]
