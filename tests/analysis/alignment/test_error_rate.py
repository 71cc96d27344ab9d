"""Alignment error rate: computed by hand, and equal to 1 - F₁ if every link is sure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.analysis.alignment.error_rate import (
    AttentionErrors,
    alignment_error,
    attention_errors,
    links,
)

LINK = st.tuples(st.integers(0, 4), st.integers(0, 4))


def test_error_rate_equals_a_hand_computed_one() -> None:
    """Och and Ney 2003: three links found, one of them sure and one more possible."""
    predicted = {(0, 0), (1, 1), (2, 3)}
    sure, possible = {(0, 0), (2, 2)}, {(1, 1)}
    assert alignment_error(predicted, sure, possible) == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert alignment_error(predicted, sure) == pytest.approx(1 - (1 + 1) / (3 + 2))
    assert alignment_error(sure, sure) == 0
    assert alignment_error({(9, 9)}, sure) == 1
    assert alignment_error([], sure) == 1


def test_empty_alignments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one link"):
        alignment_error([], [])


@given(predicted=st.sets(LINK, min_size=1), sure=st.sets(LINK, min_size=1), more=st.sets(LINK))
def test_with_sure_links_only_the_error_is_1_minus_f1(
    predicted: set[tuple[int, int]], sure: set[tuple[int, int]], more: set
) -> None:
    precision, recall = len(predicted & sure) / len(predicted), len(predicted & sure) / len(sure)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert alignment_error(predicted, sure) == pytest.approx(1 - f1)
    assert 0 <= alignment_error(predicted, sure, more) <= alignment_error(predicted, sure)


def test_a_word_is_linked_by_the_row_that_predicts_it() -> None:
    """Row i has read `<s>` and i words and writes word i; the final `</s>` is not a word."""
    weights = np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    assert links(weights, n_src=2, n_tgt=2) == {(1, 0), (0, 1)}
    assert links(weights, n_src=3, n_tgt=1) == {(2, 0)}


def test_a_layer_has_its_mean_and_best_head() -> None:
    """Two sentences; of layer 0 head 1 is always right and head 0 never; layer 1 is right half the
    time."""
    n_layers, n_heads = 2, 2
    weights = np.zeros((2, n_layers, n_heads, 3, 3), np.float32)
    gold = [{(0, 1), (1, 0)}, {(0, 0), (1, 1)}]
    for sentence, sure in enumerate(gold):
        for source, target in sure:
            weights[sentence, 0, 1, target, source] = 1
            weights[sentence, 0, 0, target, 1 - source] = 0.9
        weights[sentence, 1, :, :, 0] = 1  # always links to the first word: right half of the time
    errors = attention_errors(list(weights), gold, [(2, 2), (2, 2)])
    np.testing.assert_allclose(errors.heads, [[1, 0], [0.5, 0.5]])
    assert errors.layers == pytest.approx([0, 0.5])  # the head with larger norms dominates the mean
    assert errors.to_dict() == {
        "aer": 0,
        "aer_layer": 0,
        "aer_layers": errors.layers,
        "aer_head": {"layer": 0, "head": 1, "aer": 0},
    }


def test_sentences_do_not_share_links() -> None:
    weights = np.eye(2)[None, None]
    errors = attention_errors([weights, weights], [{(0, 0), (1, 1)}, {(0, 1)}], [(2, 2), (2, 2)])
    assert errors.layers[0] == pytest.approx(1 - 2 * 2 / (4 + 3))
    assert isinstance(errors, AttentionErrors)
