"""Rollout, compared with a hand-computed example and one product of matrices over all states."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.small_models import random_rows, trace_of_weights
from transformer.analysis.attribution import rollout
from transformer.inference.trace import Trace


@pytest.fixture
def trace() -> Trace:
    """Three layers, two heads, five source and four target tokens."""
    return trace_of_weights(
        random_rows(1, 3, 2, 5, 5),
        random_rows(2, 3, 2, 4, 4, causal=True),
        random_rows(3, 3, 2, 4, 5),
    )


def test_rollout_equals_a_hand_computed_example() -> None:
    """Two layers of one head over two tokens: (½I + ½A₂)(½I + ½A₁), computed by hand."""
    weights = np.array([[[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0, 1]]])[:, None]
    rolled = rollout.encoder(trace_of_weights(weights))
    np.testing.assert_allclose(rolled[0], [[1, 0], [0.25, 0.75]])
    np.testing.assert_allclose(rolled[1], [[0.8125, 0.1875], [0.25, 0.75]])
    raw = rollout.encoder(trace_of_weights(weights), residual=0)
    np.testing.assert_allclose(raw[1], [[0.75, 0.25], [0.5, 0.5]])


def test_a_previous_token_head_reaches_back_one_position_per_layer() -> None:
    shift = np.eye(6, k=-1)
    shift[0, 0] = 1
    uniform = np.full((6, 6), 1 / 6)
    weights = np.tile(np.stack([uniform, shift]), (4, 1, 1, 1))
    rolled = rollout.decoder(trace_of_weights(weights, weights), heads=1, residual=0)
    for layer in range(4):
        assert rolled[layer].argmax(axis=-1).tolist() == [max(0, i - layer - 1) for i in range(6)]
        np.testing.assert_array_equal(rolled[layer].max(axis=-1), 1)


@pytest.mark.parametrize("heads", ["mean", "max", 0])
def test_joint_rollout_equals_one_product_over_encoder_and_decoder(
    trace: Trace, heads: rollout.Heads
) -> None:
    """The states of source and target are concatenated; every sublayer is one matrix on them."""
    r, n_src, n_tgt = 0.3, 5, 4

    def combined(kind: str, layer: int) -> np.ndarray:
        weights = trace.weights(kind, layer)
        if heads == "mean":
            return weights.mean(axis=0)
        if heads == "max":
            return weights.max(axis=0) / weights.max(axis=0).sum(axis=-1, keepdims=True)
        return weights[heads]

    state = np.eye(n_src + n_tgt)
    for layer in range(3):
        step = np.eye(n_src + n_tgt)
        step[:n_src, :n_src] = r * np.eye(n_src) + (1 - r) * combined("encoder", layer)
        state = step @ state
    relevance = rollout.joint(trace, heads, r)
    for layer in range(3):
        within, across = np.eye(n_src + n_tgt), np.eye(n_src + n_tgt)
        within[n_src:, n_src:] = r * np.eye(n_tgt) + (1 - r) * combined("decoder", layer)
        across[n_src:, n_src:] *= r
        across[n_src:, :n_src] = (1 - r) * combined("cross", layer)
        state = across @ within @ state
        np.testing.assert_allclose(relevance.source[layer], state[n_src:, :n_src], atol=1e-6)
        np.testing.assert_allclose(relevance.target[layer], state[n_src:, n_src:], atol=1e-6)
        np.testing.assert_allclose(relevance.source_share[layer], 1 - r ** (layer + 1))
    assert not np.triu(relevance.target, 1).any(), "no position has read a later one"


def test_missing_attention_is_refused(trace: Trace) -> None:
    for heads in (2, -1):
        with pytest.raises(ValueError, match='"mean", "max" or a head from 0 to 1, not'):
            rollout.joint(trace, heads)
    for residual in (1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="at least 0 and below 1"):
            rollout.joint(trace, residual=residual)
