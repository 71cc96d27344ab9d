"""A part of `python -m tests.attack` with a fixed budget: the same inputs every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.__main__ import attack
from tests.attack.doors import DOORS

TRIED = 150


@pytest.mark.parametrize("name", DOORS)
def test_what_comes_in_is_taken_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    found = {seed: attack(DOORS[name], seed, tmp_path) for seed in range(TRIED)}
    assert not {seed: text for seed, text in found.items() if text}
