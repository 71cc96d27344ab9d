"""The copy task with a gap: each mark stands for one letter, which no other symbol repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.tasks.gap import NO_TAG, GapTask


@given(
    letters=st.integers(2, 26),
    word=st.integers(1, 4),
    longest=st.integers(4, 70),
    seed=st.integers(0, 99),
)
def test_the_answer_is_at_the_given_distance(
    letters: int, word: int, longest: int, seed: int
) -> None:
    gap = GapTask(letters, word, longest)
    ids, tags, distances = gap.draw(np.random.default_rng(seed), 20)
    assert ids.shape == tags.shape == (20, gap.length)
    assert ids.min() >= 0
    assert ids.max() < gap.symbols
    assert set(distances) <= set(gap.distances)
    for row, tag, distance in zip(ids, tags, distances, strict=True):
        mark_positions = np.flatnonzero(tag != NO_TAG)
        assert mark_positions.tolist() == [*range(distance, distance + word)]
        assert row[mark_positions].tolist() == [*range(1, word + 1)]
        assert (row[mark_positions - distance] - 1 - word).tolist() == tag[mark_positions].tolist()
        other_symbols = np.delete(row, [*mark_positions, *(mark_positions - distance)])
        assert not other_symbols.any()


def test_letters_are_uniform_and_independent() -> None:
    ids, _, _ = GapTask(letters=4, word=2, longest=4).draw(np.random.default_rng(0), 16000)
    words = ids[:, :2] - 3
    counts = np.bincount(words[:, 0] * 4 + words[:, 1], minlength=16)
    assert abs(counts - 1000).max() < 4 * np.sqrt(1000)


def test_distances_are_uniform_or_fixed() -> None:
    gap = GapTask(longest=16)
    sequences = gap.draw(np.random.default_rng(0), 6000)
    counts = [int((sequences.distances == distance).sum()) for distance in gap.distances]
    assert gap.distances == (3, 4, 6, 8, 12, 16)
    assert all(abs(count - 1000) < 4 * np.sqrt(1000) for count in counts)
    assert set(gap.draw(np.random.default_rng(0), 9, distance=6).distances) == {6}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"letters": 1}, "letters must be from 2 to 26, not 1"),
        ({"word": 5}, "word must be from 1 to 4, not 5"),
        ({"longest": 3}, "longest must be from 4 to 512, not 3"),
    ],
)
def test_invalid_sizes_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GapTask(**sizes)
