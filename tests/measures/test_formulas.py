"""Measures of heads with known values, and of any head compared with plain loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.measures import confidence, distance, entropy, offset, positional, share

Weights = npt.NDArray[np.float32]

MEASURES: list[Callable[[Any], Any]] = [
    entropy,
    distance,
    positional,
    offset,
    confidence,
    lambda weights: share(weights, 0),
]


def softmax(scores: npt.NDArray[np.float32]) -> Weights:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(np.float32)
    return weights


@st.composite
def attention_weights(draw: st.DrawFn) -> Weights:
    """Strategy for attention of shape (heads, query, key), sometimes causal, sometimes sharp."""
    n_heads, queries, keys = (draw(st.integers(1, 6)) for _ in range(3))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = random.normal(size=(n_heads, queries, keys)) * draw(st.sampled_from([0, 1, 30]))
    if draw(st.booleans()) and queries == keys:
        scores = np.where(np.tri(queries, dtype=bool), scores, -np.inf)
    return softmax(scores.astype(np.float32))


def offset_head(n: int, by: int) -> Weights:
    """Return a head that attends `by` tokens ahead, or to the nearest end."""
    return np.eye(n, dtype=np.float32)[np.clip(np.arange(n) + by, 0, n - 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 512])
def test_a_uniform_head_has_log2_n_bits_and_mean_distance_n_over_3(n: int) -> None:
    uniform = np.full((n, n), 1 / n, np.float32)
    assert entropy(uniform) == pytest.approx(log2(n), rel=1e-5)
    assert distance(uniform) == pytest.approx((n * n - 1) / (3 * n), rel=1e-5)
    assert share(uniform, n // 2) == pytest.approx(1 / n, rel=1e-5)
    assert confidence(uniform) == pytest.approx(1 / n, rel=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_a_diagonal_head_has_no_entropy_and_no_distance(n: int) -> None:
    same = np.eye(n, dtype=np.float32)
    assert (entropy(same), distance(same)) == (0, 0)
    assert (positional(same), offset(same), confidence(same)) == (1, 0, 1)
    assert str(np.round(entropy(same), 4).tolist()) == "0.0"  # pages must not show −0.0


@pytest.mark.parametrize("by", [-3, -2, -1, 0, 1, 2, 3])
def test_an_offset_head_is_completely_positional_in_short_sentences(by: int) -> None:
    for n in (8, 9, 20):
        assert offset(offset_head(n, by)) == by
        assert positional(offset_head(n, by)) == 1


def test_an_attention_sink_is_not_positional() -> None:
    for column in (0, 9):
        sink = np.zeros((10, 10), np.float32)
        sink[:, column] = 1
        assert share(sink, column) == 1
        assert offset(sink) == 0  # each offset once: the nearest to 0
        assert positional(sink) == pytest.approx(0.1)
        assert confidence(sink) == 1
        assert confidence(sink, [column]) == 0


def test_ties_between_offsets_go_to_the_nearest_then_the_smaller() -> None:
    assert offset(np.eye(2, dtype=np.float32)[[1, 0]]) == -1  # +1 and −1
    one_each = np.eye(5, dtype=np.float32)[[4, 3, 3, 1, 0]]  # 4, 2, 1, −2, −4
    assert offset(one_each) == 1


def test_single_rows_and_columns_have_valid_measures() -> None:
    row = np.array([[0.1, 0.2, 0.7]], np.float32)
    assert distance(row) == pytest.approx(0.2 + 2 * 0.7)
    assert (offset(row), positional(row)) == (2, 1)
    column = np.ones((3, 1), np.float32)
    assert (entropy(column), distance(column), offset(column)) == (0, 1, 0)
    assert positional(column) == 1  # only row 0 reaches offset 0
    assert (share(column, -1), confidence(column), confidence(column, [0])) == (1, 1, 0)


def measures_by_loops(head: Weights) -> dict[str, float]:
    """Compute the measures by their formulas, one row and one column after the other."""
    rows = [[float(w) for w in row] for row in head]
    n, m = len(rows), len(rows[0])
    entropies = [-sum(w * log2(w) for w in row if w > 0) for row in rows]
    distances = [sum(w * abs(i - j) for j, w in enumerate(row)) for i, row in enumerate(rows)]
    offsets = Counter(row.index(max(row)) - i for i, row in enumerate(rows))
    top = min(offsets, key=lambda o: (-offsets[o], abs(o), o))
    return {
        "entropy": sum(entropies) / n,
        "distance": sum(distances) / n,
        "offset": top,
        "positional": offsets[top] / sum(0 <= i + top < m for i in range(n)),
        "first": sum(row[0] for row in rows) / n,
        "last": sum(row[-1] for row in rows) / n,
        "confidence": sum(max(row) for row in rows) / n,
        "without the last": sum(max([0.0, *row[:-1]]) for row in rows) / n,
    }


@given(attention_weights())
def test_measures_equal_plain_loops(weights: Weights) -> None:
    measured = {
        "entropy": entropy(weights),
        "distance": distance(weights),
        "offset": offset(weights),
        "positional": positional(weights),
        "first": share(weights, 0),
        "last": share(weights, weights.shape[-1] - 1),
        "confidence": confidence(weights),
        "without the last": confidence(weights, [weights.shape[-1] - 1]),
    }
    for name, values in measured.items():
        expected = [measures_by_loops(head)[name] for head in weights]
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6, err_msg=name)


@given(attention_weights())
def test_stacked_heads_equal_single_heads(weights: Weights) -> None:
    stacked = np.stack([weights, weights[::-1]])
    for measure in MEASURES:
        stacked_values = measure(stacked)
        assert stacked_values.shape == stacked.shape[:2]
        for index in np.ndindex(*stacked_values.shape):
            assert stacked_values[index] == measure(stacked[index])


@given(attention_weights())
def test_every_measure_stays_in_its_range(weights: Weights) -> None:
    n, m = weights.shape[-2:]
    assert (entropy(weights) >= 0).all()
    assert (entropy(weights) <= log2(m) + 1e-4).all()
    assert (distance(weights) <= max(n, m)).all()
    for value in (positional(weights), confidence(weights), share(weights, 0)):
        assert ((value >= 0) & (value <= 1)).all()
    assert (positional(weights) > 0).all()


def test_weights_slightly_above_1_count_as_1() -> None:
    rounded = np.array([[1 + 9e-5, 0]], np.float32)
    assert (entropy(rounded), confidence(rounded), share(rounded, 0)) == (0, 1, 1)


WRONG = {
    "no row": (np.zeros((2, 0, 3), np.float32), r"shape \(2, 0, 3\)"),
    "no column": (np.zeros((3, 0), np.float32), r"shape \(3, 0\)"),
    "no head": (np.zeros((0, 3, 3), np.float32), r"shape \(0, 3, 3\)"),
    "below 0": (np.array([[-0.5, 1]], np.float32), "from -0.5 to 1.0"),
    "above 1": (np.array([[0.5, 1.5]], np.float32), "from 0.5 to 1.5"),
    "no number": (np.array([[0.5, np.nan]], np.float32), "from nan to nan"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_attention_is_refused(case: str) -> None:
    weights, message = WRONG[case]
    for measure in MEASURES:
        with pytest.raises(ValueError, match=message):
            measure(weights)


@pytest.mark.parametrize("column", [3, -4])
def test_a_missing_column_is_refused(column: int) -> None:
    weights = np.full((2, 3), 1 / 3, np.float32)
    for measure in (share, lambda w, c: confidence(w, [0, c])):
        with pytest.raises(ValueError, match=f"no column {column}; the columns are 0 to 2"):
            measure(weights, column)
