"""The steps at which a film has a frame."""

from __future__ import annotations

from transformer.measures.film_steps import film_steps


def test_film_steps_are_denser_at_the_beginning() -> None:
    assert film_steps([8, 1, 0, 1]) == [0, 1, 8]
    assert film_steps([]) == []
    assert film_steps([5, 6, 7], 2) == [5, 7]
    assert film_steps([5, 6, 7], 1) == [7]
    selected = film_steps(range(0, 100_001, 10), 100)
    assert len(selected) == len(set(selected)) == 100
    assert (selected[0], selected[-1], selected) == (0, 100_000, sorted(selected))
    doublings = [sum(low <= step < 2 * low for step in selected) for low in (1000, 4000, 16_000)]
    assert max(doublings) - min(doublings) <= 2
    for limit in range(2, 12):
        assert len(film_steps(range(0, 400, 7), limit)) == limit
