"""Alignment and attention to the previous word, on hand-made weights."""

from __future__ import annotations

import numpy as np

from transformer.analysis.roles.sentence_heads import alignment, strongest_pairs, word_before


def test_with_equal_weights_a_word_has_one_link() -> None:
    pairs = strongest_pairs(np.full((1, 3, 4), 0.25))
    assert pairs.sum() == 1
    shares, _ = alignment(np.eye(3)[None])
    assert shares[0] == 1


def test_the_pairs_are_the_strongest_of_the_mean_of_all_heads() -> None:
    aligned = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]])
    neighbours = np.roll(np.eye(3), 1, axis=1)
    shares, pairs = alignment(np.stack([aligned, aligned, neighbours]))
    assert np.argwhere(pairs).tolist() == [[0, 0], [1, 2], [2, 1]]
    np.testing.assert_allclose(shares, [0.8, 0.8, 1 / 3])


def test_only_words_directly_before_count() -> None:
    weights = np.arange(25.0).reshape(1, 5, 5)
    labels = ["a", "b", "", "c", "d"]
    np.testing.assert_array_equal(
        word_before(weights, labels), [[weights[0, 1, 0], weights[0, 4, 3]]]
    )
