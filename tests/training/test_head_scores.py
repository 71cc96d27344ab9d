"""Scores of the best head for constructed attention weights, compared with values by hand."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.training.evaluator import linked_score, previous_token_score


def one_hot(columns: list[int], n_keys: int) -> np.ndarray:
    return np.eye(n_keys)[columns]


def test_the_score_is_that_of_the_best_head() -> None:
    previous = one_hot([0, 0, 1, 2], 4)
    uniform = np.full((4, 4), 0.25)
    weights = np.stack([uniform, previous])[None]  # one layer, two heads
    assert previous_token_score([weights], [4]) == pytest.approx(1.0)
    assert previous_token_score([weights[:, :1]], [4]) == pytest.approx(0.25)


def test_padding_and_the_first_token_do_not_count() -> None:
    weights = np.zeros((1, 1, 5, 5))
    weights[0, 0, 1, 0], weights[0, 0, 4, 3] = 0.6, 1.0  # row 4 is padding
    assert previous_token_score([weights], [2]) == pytest.approx(0.6)
    assert previous_token_score([weights], [1]) is None


def test_the_mean_is_over_all_rows_not_over_sentences() -> None:
    short, long = np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 4, 4))
    short[0, 0, 1, 0] = 1.0
    assert previous_token_score([short, long], [2, 4]) == pytest.approx(1 / 4)


def test_weights_on_all_links_of_a_token_are_summed() -> None:
    cross = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])[None, None]
    links = {(0, 0), (1, 0), (2, 1)}
    assert linked_score([cross], [links]) == pytest.approx((0.8 + 0.8) / 2)
    assert linked_score([cross], [set()]) is None


def test_one_head_is_chosen_for_the_whole_corpus() -> None:
    """Two heads that are each right in one of the two sentences score 1/2, not 1."""
    first, second = one_hot([0, 1], 2), one_hot([1, 0], 2)
    cross = np.stack([first, second])[None]
    links = [{(0, 0), (1, 1)}, {(1, 0), (0, 1)}]
    assert linked_score([cross, cross], links) == pytest.approx(0.5)


def test_just_read_scores_use_the_next_row() -> None:
    cross = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.3, 0.6, 0.1]])[None, None]
    links = {(0, 0), (1, 1)}
    assert linked_score([cross], [links]) == pytest.approx((0.9 + 0.8) / 2)
    assert linked_score([cross], [links], shift=1) == pytest.approx((0.2 + 0.6) / 2)
