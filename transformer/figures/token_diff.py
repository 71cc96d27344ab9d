"""Two token lists as one, and what differs between two matrices over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

Pair = tuple[int | None, int | None]
"""A place in the first list and the one in the second that is the same token; None has none."""


def align(first: Sequence[str], second: Sequence[str]) -> list[Pair]:
    """Both lists as one, in order: equal tokens side by side, None where one has no partner.

    As many tokens as can be are paired (a longest common subsequence: Wagner and Fischer 1974,
    section 5, https://doi.org/10.1145/321796.321811), and of the ways to do so one with the most
    neighbours paired with neighbours, so that a phrase stays whole. Between two pairs the tokens of
    `first` come before those of `second`. Time and memory grow with len(first) · len(second):
    512 tokens each take 0.1 s at most. (difflib takes the longest run first and may lose many pairs
    for it: of 512 letters a or b drawn twice it pairs 193, this 414.)
    """
    made: list[Pair] = []
    i = j = 0
    for end_i, end_j in [*_matches(first, second), (len(first), len(second))]:
        made += [(place, None) for place in range(i, end_i)]
        made += [(None, place) for place in range(j, end_j)]
        made.append((end_i, end_j))
        i, j = end_i + 1, end_j + 1
    return made[:-1]


def difference(
    a: Float[np.ndarray, "*heads rows_a columns_a"],
    b: Float[np.ndarray, "*heads rows_b columns_b"],
    rows: Sequence[Pair],
    columns: Sequence[Pair],
) -> Float[np.ndarray, "*heads rows columns"]:
    """b − a over aligned rows and columns; NaN in a cell that only one of them has, or neither.

    `rows` and `columns` are as `align` gives them for the tokens of a and of b.

    Raises:
        ValueError: if the pairs are not those of as many rows and columns as a and b have.
    """
    row, row_a, row_b = _shared("rows", rows, a.shape[-2], b.shape[-2])
    column, column_a, column_b = _shared("columns", columns, a.shape[-1], b.shape[-1])
    made = np.full((*a.shape[:-2], len(rows), len(columns)), np.nan, np.result_type(a, b))
    made[..., row[:, None], column] = (
        b[..., row_b[:, None], column_b] - a[..., row_a[:, None], column_a]
    )
    return made


def _matches(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of `align`, without what has no partner."""
    n, m = len(first), len(second)
    pair = min(n, m) + 1  # worth more than all neighbours together, each of which is worth 1
    # From (i, j) to both ends: the worth of the best way, and of the best that pairs i with j.
    best = [[0] * (m + 1) for _ in range(n + 1)]
    paired = [[-1] * (m + 1) for _ in range(n + 1)]
    for i in reversed(range(n)):
        here, below = best[i], best[i + 1]
        for j in reversed(range(m)):
            worth = max(below[j], here[j + 1])
            if first[i] == second[j]:
                paired[i][j] = pair + max(below[j + 1], paired[i + 1][j + 1] + 1)
                worth = max(worth, paired[i][j])
            here[j] = worth
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < n and j < m:
        neighbour = int(found[-1:] == [(i - 1, j - 1)])
        if paired[i][j] >= 0 and paired[i][j] + neighbour >= best[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] == best[i][j]:
            i += 1
        else:
            j += 1
    return found


def _shared(
    name: str, pairs: Sequence[Pair], count_a: int, count_b: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Places of the pairs that both have: among all pairs, in a and in b."""
    for side, count in enumerate((count_a, count_b)):
        places = [pair[side] for pair in pairs if pair[side] is not None]
        if places != list(range(count)):
            raise ValueError(
                f"The pairs name {len(places)} {name} of {'ab'[side]}; "
                f"each of its {count} belongs there once, in order."
            )
    both = [(at, i, j) for at, (i, j) in enumerate(pairs) if i is not None and j is not None]
    at, in_a, in_b = np.array(both, dtype=np.intp).reshape(-1, 3).T
    return at, in_a, in_b
