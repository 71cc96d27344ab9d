"""Flow, compared with a hand-computed example and the minimum over all cuts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.analysis.small_models import random_rows, trace_of_weights
from transformer.analysis.attribution import flow, rollout
from transformer.inference.trace import Trace

Node = tuple[str, int, int]  # a stack, a level of it, a position
Capacities = dict[tuple[Node, Node], float]


def minimum_cut(capacities: Capacities, start: Node, end: Node) -> float:
    """Return the minimum capacity of all cuts that separate start and end."""
    nodes = {node for pair in capacities for node in pair}
    inner = sorted(nodes - {start, end})
    halves = np.array(list(itertools.product([False, True], repeat=len(inner))))
    near = {node: halves[:, k] for k, node in enumerate(inner)}
    near |= {start: np.ones(len(halves), bool), end: np.zeros(len(halves), bool)}
    cuts = sum(capacity * (near[a] & ~near[b]) for (a, b), capacity in capacities.items())
    return float(np.min(cuts))


def edge_capacities(name: str, matrices: list[np.ndarray]) -> Capacities:
    return {
        ((name, level + 1, i), (name, level, j)): float(matrix[i, j])
        for level, matrix in enumerate(matrices)
        for i, j in np.ndindex(*matrix.shape)
    }


def with_residual(layers: np.ndarray, r: float) -> list[np.ndarray]:
    return [r * np.eye(layer.shape[-1]) + (1 - r) * layer.mean(axis=0) for layer in layers]


@pytest.mark.parametrize(("seed", "residual"), [(0, 0.5), (1, 0.5), (2, 0.0), (3, 0.2)])
def test_flow_equals_the_minimum_cut(seed: int, residual: float) -> None:
    weights = random_rows(seed, 3, 2, 3, 3)
    trace = trace_of_weights(
        weights, np.tril(weights) / np.tril(weights).sum(axis=-1, keepdims=True)
    )
    capacities = edge_capacities("encoder", with_residual(weights, residual))
    rolled = flow.encoder(trace, residual=residual)
    for i, j in np.ndindex(3, 3):
        cut = minimum_cut(capacities, ("encoder", 3, i), ("encoder", 0, j))
        assert rolled[i, j] == pytest.approx(cut, abs=1e-7)
    alone = flow.decoder(trace, [1], residual=residual)
    lower = with_residual(np.stack([trace.weights("decoder", k) for k in range(3)]), residual)
    cut = minimum_cut(edge_capacities("decoder", lower), ("decoder", 3, 1), ("decoder", 0, 0))
    assert alone[0, 0] == pytest.approx(cut, abs=1e-7)
    assert alone[0, 2] == 0, "there is no flow from a later token"


@pytest.mark.parametrize(("seed", "depth"), [(0, 2), (1, 2), (2, 3)])
def test_joint_flow_equals_the_minimum_cut(seed: int, depth: int) -> None:
    """Two decoder layers, two source and two target tokens: 16 nodes or more, 16,384 cuts for each
    pair. The encoder may have another depth."""
    r = 0.4
    encoder, cross = random_rows(seed, depth, 2, 2, 2), random_rows(seed + 9, 2, 2, 2, 2)
    decoder = random_rows(seed + 5, 2, 2, 2, 2, causal=True)
    within = with_residual(decoder, r)
    capacities = edge_capacities("encoder", with_residual(encoder, r))
    capacities |= edge_capacities("decoder", [within[0], r * np.eye(2), within[1], r * np.eye(2)])
    for layer, i, j in np.ndindex(2, 2, 2):
        above, below = ("decoder", 2 * layer + 2, i), ("encoder", depth, j)
        capacities[above, below] = (1 - r) * float(cross[layer, :, i, j].mean())
    trace = Trace.from_weights(
        ["a", "b"], ["c", "d"], encoder=[*encoder], decoder=[*decoder], cross=[*cross]
    )
    relevance = flow.joint(trace, residual=r)
    for i, j in np.ndindex(2, 2):
        output = ("decoder", 4, i)
        assert relevance.source[i, j] == pytest.approx(
            minimum_cut(capacities, output, ("encoder", 0, j)), abs=1e-7
        )
        assert relevance.target[i, j] == pytest.approx(
            minimum_cut(capacities, output, ("decoder", 0, j)), abs=1e-7
        )


def test_flow_equals_a_hand_computed_example() -> None:
    """Two paths with bottlenecks of 0.5 and 0.3 have a maximum flow of 0.8."""
    low = np.array([[0.9, 0.1], [0.3, 0.7]])
    high = np.array([[0.5, 0.5], [0, 1]])
    trace = trace_of_weights(np.stack([low, high])[:, None])
    np.testing.assert_allclose(flow.encoder(trace, [0], residual=0), [[0.8, 0.6]], atol=1e-8)
    np.testing.assert_allclose(
        flow.encoder(trace_of_weights(low[None, None]), residual=0), low, atol=1e-8
    )


def test_flow_is_at_least_rollout_and_at_most_1() -> None:
    """Rollout's products are a valid flow, so the maximum flow is at least as large."""
    encoder, cross = random_rows(1, 4, 2, 7, 7), random_rows(2, 4, 2, 6, 7)
    trace = trace_of_weights(encoder, random_rows(3, 4, 2, 6, 6, causal=True), cross)
    flows, rolled = flow.joint(trace), rollout.joint(trace)
    for flow_values, rollout_values in (
        (flows.source, rolled.source),
        (flows.target, rolled.target),
    ):
        assert (flow_values >= rollout_values[-1] - 1e-7).all()
        assert (flow_values <= 1).all()
    assert (flow.encoder(trace) >= rollout.encoder(trace)[-1] - 1e-7).all()


@pytest.mark.parametrize("over", [0.0, 6e-8, 1e-6])
def test_rows_that_sum_to_slightly_more_than_1_give_at_most_1(
    over: float,
) -> None:
    """A softmax in float32 may sum to 1 + 6e-8; uniform rows have the largest rounding error."""
    uniform = np.full((6, 1, 7, 7), (1 + over) / 7, dtype=np.float32)
    trace = trace_of_weights(
        uniform, np.full((6, 1, 5, 5), (1 + over) / 5), np.full((6, 1, 5, 7), 1 / 7)
    )
    for residual in (0.0, 0.1, 0.5):
        flows = flow.joint(trace, [0, 4], residual=residual)
        for values in (flows.source, flows.target, flow.encoder(trace, residual=residual)):
            assert (values <= 1).all()


def test_only_the_requested_positions_are_computed(trace: Trace) -> None:
    all_flows = flow.joint(trace)
    requested = flow.joint(trace, [2, 0])
    np.testing.assert_array_equal(requested.source, all_flows.source[[2, 0]])
    np.testing.assert_array_equal(requested.target, all_flows.target[[2, 0]])
    assert flow.encoder(trace, []).shape == (0, 4)
    with pytest.raises(ValueError, match="no position 3; the positions are 0 to 2"):
        flow.joint(trace, [3])
    with pytest.raises(ValueError, match="no position -1; the positions are 0 to 3"):
        flow.encoder(trace, [-1])


@pytest.fixture
def trace() -> Trace:
    """Four source and three target tokens."""
    cross = random_rows(3, 2, 1, 3, 4)
    return trace_of_weights(
        random_rows(1, 2, 1, 4, 4), random_rows(2, 2, 1, 3, 3, causal=True), cross
    )
