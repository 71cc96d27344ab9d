"""A short run of `python -m tests.attack` with the same inputs every time."""

from __future__ import annotations

import sys

import pytest

from tests.attack.__main__ import TARGETS, run_attack

SECONDS = 30.0  # maximum time of an attack, after its start-up
PORTABLE = {"texts", "links", "checkpoints", "classes", "imported folders", "traces", "run folders"}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_causes_no_defect(name: str) -> None:
    if name not in PORTABLE and not sys.platform.startswith("linux"):
        pytest.skip("needs Linux: fork, resource limits and kill -9")
    result = run_attack(TARGETS[name], seed=0, seconds=SECONDS, max_rounds=TARGETS[name].rounds)
    assert not result.defects, "\n".join(
        f"seed {seed}: {traceback}" for seed, traceback in result.defects
    )
    assert result.n_inputs
