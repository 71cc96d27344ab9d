"""Functions whose results all sessions share: their keys and their common limit."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.api.sized_cache import SizedCache
from transformer.ui.services import memory_cache as module
from transformer.ui.services.memory_cache import cached


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "results", SizedCache(100_000))


def test_arguments_with_an_underscore_are_not_part_of_the_key() -> None:
    calls: list[tuple[str, int]] = []

    @cached()
    def return_none(name: str, _model: object, row: int) -> None:
        calls.append((name, row))

    @cached()
    def return_row(name: str, _model: object, row: int) -> int:
        return row

    for name, model, row in (("a", [], 1), ("a", {}, 1), ("a", [], 2), ("b", [], 1)):
        assert return_none(name, model, row) is None  # None is cached like any other result
        assert return_row(name, model, row) == row  # not the result of the other function
    assert calls == [("a", 1), ("a", 2), ("b", 1)]


def test_all_functions_share_one_limit() -> None:
    calls: list[int] = []

    @cached()
    def large(number: int) -> np.ndarray:
        calls.append(number)
        return np.zeros(5000)  # 40 kB

    for number in (1, 2, 1, 3, 1, 2):
        large(number)
    assert calls == [1, 2, 3, 2]  # the cache has room for two
