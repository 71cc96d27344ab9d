"""A part of `python -m tests.attack` with a fixed budget: the same inputs every time."""

from __future__ import annotations

import sys

import pytest

from tests.attack.__main__ import DOORS, attacked

SECONDS = 30.0  # at most, once the door is open
SIMPLE = {"texts", "links", "checkpoints", "classes", "folders of others", "traces", "run folders"}


@pytest.mark.parametrize("name", DOORS)
def test_nothing_gets_in_and_nothing_is_lost(name: str) -> None:
    if name not in SIMPLE and not sys.platform.startswith("linux"):
        pytest.skip("needs fork, limits of resources and kill -9 as Linux has them")
    figures = attacked(DOORS[name], seed=0, seconds=SECONDS, max_rounds=DOORS[name].rounds)
    assert not figures.wrong, "\n".join(f"seed {seed}: {wrong}" for seed, wrong in figures.wrong)
    assert figures.tried
