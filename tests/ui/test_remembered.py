"""A function is called once for its arguments, but for those that only come along."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.ui.kit import remembered as module
from transformer.ui.kit.kept import Kept
from transformer.ui.kit.remembered import remembered


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "results", Kept(100_000))


def test_arguments_with_an_underscore_do_not_count() -> None:
    calls: list[tuple[str, int]] = []

    @remembered()
    def none(name: str, _model: object, row: int) -> None:
        calls.append((name, row))

    @remembered()
    def other(name: str, _model: object, row: int) -> int:
        return row

    for name, model, row in (("a", [], 1), ("a", {}, 1), ("a", [], 2), ("b", [], 1)):
        assert none(name, model, row) is None  # which is remembered as any other answer
        assert other(name, model, row) == row  # and is not the first one's
    assert calls == [("a", 1), ("a", 2), ("b", 1)]


def test_all_of_them_share_one_room() -> None:
    calls: list[int] = []

    @remembered()
    def large(number: int) -> np.ndarray:
        calls.append(number)
        return np.zeros(5000)  # 40 kB

    for number in (1, 2, 1, 3, 1, 2):
        large(number)
    assert calls == [1, 2, 3, 2]  # two of them fit
    assert module.results.held < 100_000


def test_an_error_is_nobodys() -> None:
    tries: list[int] = []

    @remembered()
    def fails(_: int) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("too long")
        return 5

    with pytest.raises(ValueError, match="too long"):
        fails(0)
    assert fails(0) == 5
