"""Alignment of token lists is complete and optimal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.figures.token_diff import Pair, align, difference

HOSTILE = ["<b>", "▁", "", "שלום", "e\u0301", "é", "\ud800", "</s>"]
few_tokens = st.lists(st.sampled_from(HOSTILE[:3]), max_size=9)
lists = few_tokens | st.lists(st.sampled_from(HOSTILE) | st.text(), max_size=9)


def sides(pairs: list[Pair], side: int) -> list[int]:
    return [index for pair in pairs if (index := pair[side]) is not None]


def matched(pairs: list[Pair]) -> list[tuple[int, int]]:
    return [(i, j) for i, j in pairs if i is not None and j is not None]


@given(lists, lists)
def test_alignments_cover_both_lists_in_order(a: list[str], b: list[str]) -> None:
    pairs = align(a, b)
    assert sides(pairs, 0) == [*range(len(a))]
    assert sides(pairs, 1) == [*range(len(b))]
    assert (None, None) not in pairs
    assert all(a[i] == b[j] for i, j in matched(pairs))


@given(lists, lists)
def test_between_pairs_the_first_list_comes_first(a: list[str], b: list[str]) -> None:
    for before, after in pairwise(align(a, b)):
        assert not (before[0] is None and after[1] is None)


@given(few_tokens, few_tokens)
def test_alignments_are_optimal(a: list[str], b: list[str]) -> None:
    @cache
    def best_score(i: int, j: int, after_pair: bool) -> tuple[int, int]:
        """Return pairs and neighbours of the best continuation from (i, j), by trying all."""
        if i == len(a) or j == len(b):
            return 0, 0
        scores = [best_score(i + 1, j, False), best_score(i, j + 1, False)]
        if a[i] == b[j]:
            pairs, neighbours = best_score(i + 1, j + 1, True)
            scores.append((pairs + 1, neighbours + after_pair))
        return max(scores)

    matches = matched(align(a, b))
    neighbours = sum((i + 1, j + 1) == after for (i, j), after in pairwise(matches))
    assert (len(matches), neighbours) == best_score(0, 0, False)


@given(lists)
def test_a_list_aligns_with_itself(a: list[str]) -> None:
    assert align(a, a) == [(i, i) for i in range(len(a))]


def test_an_inserted_and_a_replaced_word() -> None:
    first = ["▁The", "▁cat", "▁sat", "</s>"]
    second = ["▁The", "▁old", "▁dog", "▁sat", "</s>"]
    assert align(first, second) == [(0, 0), (1, None), (None, 1), (None, 2), (2, 3), (3, 4)]


def test_a_phrase_stays_together() -> None:
    pairs = align(["the", "cat", "sat"], ["the", "dog", "and", "the", "cat", "sat"])
    assert pairs == [(None, 0), (None, 1), (None, 2), (0, 3), (1, 4), (2, 5)]


def test_empty_and_disjoint_lists() -> None:
    assert align([], []) == []
    assert align(["a"], []) == [(0, None)]
    assert align([], ["a"]) == [(None, 0)]
    assert align(["é"], ["e\u0301"]) == [(0, None), (None, 0)]  # look equal, but are not


Matrices = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], list[Pair], list[Pair]]


@st.composite
def two_matrices(draw: st.DrawFn) -> Callable[[], Matrices]:
    """Return two token lists and a matrix over each. The tests align them: jaxtyping's checker
    draws from `random`, which must not happen while hypothesis draws."""
    rows_a, rows_b, columns_a, columns_b = (draw(few_tokens) for _ in range(4))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    heads = draw(st.sampled_from([(), (2,), (2, 3)]))
    a = random.random((*heads, len(rows_a), len(columns_a)), np.float32)
    b = random.random((*heads, len(rows_b), len(columns_b)), np.float32)
    return lambda: (a, b, align(rows_a, rows_b), align(columns_a, columns_b))


@given(two_matrices())
def test_the_difference_is_b_minus_a_where_both_exist(matrices: Callable[[], Matrices]) -> None:
    a, b, rows, columns = matrices()
    result = difference(a, b, rows, columns)
    assert result.dtype == np.float32
    assert result.shape == (*a.shape[:-2], len(rows), len(columns))
    for r, (i, k) in enumerate(rows):
        for c, (j, m) in enumerate(columns):
            if None in (i, j, k, m):
                assert np.isnan(result[..., r, c]).all()
            else:
                np.testing.assert_array_equal(result[..., r, c], b[..., k, m] - a[..., i, j])


@given(two_matrices())
def test_the_reverse_difference_has_the_opposite_sign(
    matrices: Callable[[], Matrices],
) -> None:
    a, b, rows, columns = matrices()
    reverse = difference(b, a, [(j, i) for i, j in rows], [(j, i) for i, j in columns])
    np.testing.assert_array_equal(reverse, -difference(a, b, rows, columns))


@given(two_matrices())
def test_no_difference_from_itself(matrices: Callable[[], Matrices]) -> None:
    a = matrices()[0]
    rows, columns = ([(i, i) for i in range(n)] for n in a.shape[-2:])
    np.testing.assert_array_equal(difference(a, a, rows, columns), np.zeros_like(a))


WRONG = {
    "a row too few": ([(0, 0)], [(0, 0)], "cover 1 rows of a; .* each of its 2"),
    "a row twice": (
        [(0, 0), (0, None), (1, None)],
        [(0, 0)],
        "cover 3 rows of a; .* each of its 2",
    ),
    "out of order": ([(1, 0), (0, None)], [(0, 0)], "cover 2 rows of a"),
    "a column of b too many": ([(0, 0), (1, None)], [(0, 0), (None, 1)], "cover 2 columns of b"),
}


@pytest.mark.parametrize("case", WRONG)
def test_pairs_that_do_not_match_are_refused(case: str) -> None:
    rows, columns, message = WRONG[case]
    a, b = np.zeros((2, 1), np.float32), np.zeros((1, 1), np.float32)
    with pytest.raises(ValueError, match=message):
        difference(a, b, rows, columns)
