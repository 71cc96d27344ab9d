"""How long a run waits, against a line that is worked off step by step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transformer.jobs.waiting import until_turn

SECONDS = st.lists(st.integers(1, 50).map(float), max_size=8)


def worked_off(left: list[float], before: list[float], workers: int) -> float:
    """Second by second: who is free takes the next; the turn comes when one is free and none is."""
    busy, line, now = sorted(left)[-workers:], [*before], 0.0
    while len(busy) >= workers or line:
        while line and len(busy) < workers:
            busy.append(line.pop(0))
        if len(busy) < workers:
            break
        step = min(busy)
        now += step
        busy = [one - step for one in busy if one > step]
    return now


@given(left=SECONDS, before=SECONDS, workers=st.integers(1, 4))
def test_it_is_what_working_the_line_off_takes(
    left: list[float], before: list[float], workers: int
) -> None:
    left = left[:workers]
    assert until_turn(left, before, workers) == worked_off(left, before, workers)


def test_what_is_not_known_is_not_told() -> None:
    assert until_turn([None], [], 1) is None
    assert until_turn([1.0], [None], 1) is None
    assert until_turn([], [], 2) == 0
