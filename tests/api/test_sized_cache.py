"""The cache that threads share: its limit in bytes, one computation per key, and sizes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.api.sized_cache import SizedCache, estimate_bytes

ARRAY_OF_1_KB = np.zeros(125)  # 1,000 bytes


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 60)), max_size=40))
def test_the_cache_exceeds_its_limit_only_for_a_single_value(puts: list[tuple[str, int]]) -> None:
    """Compare with a list of all stored values, newest first."""
    cache: SizedCache[int] = SizedCache(100, size=int)
    order: list[tuple[str, int]] = []
    for key, size in puts:
        cache.put(key, size)
        order = [(key, size), *((k, s) for k, s in order if k != key)]
        while len(order) > 1 and sum(s for _, s in order) > 100:
            order.pop()
        assert len(cache) == len(order)
    assert {key: cache.get(key) for key in "abcdef"} == dict.fromkeys("abcdef") | dict(order)


def test_reading_a_value_makes_it_recent() -> None:
    cache: SizedCache[int] = SizedCache(3, size=lambda _: 1)
    for key in "abc":
        cache.put(key, ord(key))
    assert cache.get("a") == 97
    cache.put("d", 100)
    assert [cache.get(key) for key in "abcd"] == [97, None, 99, 100]
    small_cache: SizedCache[int] = SizedCache(1, size=lambda _: 5)
    small_cache.put("large", 1)
    assert small_cache.get("large") == 1


def test_concurrent_threads_compute_once_and_errors_are_not_cached() -> None:
    cache: SizedCache[int] = SizedCache(1000)
    calls: list[int] = []
    barrier = threading.Barrier(8)

    def compute() -> int:
        calls.append(1)
        time.sleep(0.02)
        return 7

    def get_value() -> None:
        barrier.wait()
        assert cache.get_or_make("a", compute) == 7

    threads = [threading.Thread(target=get_value) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    with pytest.raises(ZeroDivisionError):
        cache.get_or_make("b", lambda: 1 // 0)
    assert cache.get_or_make("b", lambda: 3) == 3


@dataclass
class Holder:
    first: object
    second: object


def test_nested_arrays_tables_and_texts_are_counted() -> None:
    table = pd.DataFrame({"x": np.zeros(1000), "y": ["word"] * 1000})
    figure = go.Figure(go.Bar(x=np.zeros(1000), y=np.zeros(1000)))
    for value, minimum, maximum in (
        (ARRAY_OF_1_KB, 1000, 1200),
        (torch.zeros(250), 1000, 1200),
        ({"a": [ARRAY_OF_1_KB.copy(), (ARRAY_OF_1_KB.copy(),)]}, 2000, 3000),
        (Holder(ARRAY_OF_1_KB.copy(), {"b": ARRAY_OF_1_KB.copy()}), 2000, 3000),
        ("x" * 1000, 1000, 1200),
        (b"x" * 1000, 1000, 1200),
        (table, 16_000, 100_000),
        (figure, 16_000, 60_000),
        ([ARRAY_OF_1_KB] * 100, 1000, 1300),  # one array, held a hundred times
        (torch.nn.Linear(1000, 1000), 0, 100),  # models are not counted
    ):
        assert minimum <= estimate_bytes(value) <= maximum, value


def test_a_recursive_object_is_counted_once() -> None:
    circle: list[object] = [ARRAY_OF_1_KB]
    circle.append(circle)
    assert 1000 < estimate_bytes(circle) < 1300
