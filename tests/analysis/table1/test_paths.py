"""Path lengths, compared with perturbed inputs and with a search over offsets."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from transformer.analysis.table1 import paths
from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig


def search_by_offsets(name: str, n: int, n_layers: int, k: int, r: int) -> list[set[int]]:
    """Return the inputs that reach the last position, by offsets only: no weights, no gradients."""

    def inputs_of(position: int, layer: int) -> set[int]:
        if name == "self-attention":
            return set(range(n))
        if name == "recurrent":
            return set(range(position + 1))
        half, step = (r // 2, 1) if name == "restricted" else (k // 2, 1)
        if name == "dilated":
            step = (k // 2 + 1) ** layer
        return {position + o * step for o in range(-half, half + 1)} & set(range(n))

    connected = [{n - 1}]
    for depth in range(1, n_layers + 1):
        reached = {n - 1}
        for layer in reversed(range(depth)):  # the bottom layer, number 0, comes last
            reached = set().union(*(inputs_of(position, layer) for position in reached))
        connected.append(reached)
    return connected


@pytest.mark.parametrize("name", paths.STACKS)
@pytest.mark.parametrize(("n", "k", "r"), [(1, 3, 3), (12, 3, 5), (23, 5, 7), (9, 1, 1)])
def test_path_lengths_from_gradients_equal_a_graph_search(
    name: str, n: int, k: int, r: int
) -> None:
    field = paths.receptive_field(name, n, 4, k, r)
    assert [set(row.nonzero().flatten().tolist()) for row in field] == search_by_offsets(
        name, n, 4, k, r
    )


@pytest.mark.parametrize("name", paths.STACKS)
@pytest.mark.parametrize(("k", "r"), [(3, 3), (5, 9), (7, 5)])
def test_the_formula_equals_path_lengths_from_gradients(name: str, k: int, r: int) -> None:
    for n in (1, 2, 3, 8, 9, 27, 40):
        assert paths.layers_needed(name, n, k, r) == paths.path_length(name, n, k, r)


def test_a_kernel_of_one_position_connects_nothing() -> None:
    for name in ("convolutional", "restricted", "dilated"):
        assert (
            paths.layers_needed(name, 5, k=1, r=1)
            == paths.path_length(name, 5, k=1, r=1)
            == math.inf
        )


def test_dilations_of_powers_of_k_do_not_reach_every_position() -> None:
    """Why `layer_stack` uses (k+1)/2: with 1, 3, 9 … position 0 never reaches position 63 of 64."""
    reached = {63}
    for layer in reversed(range(8)):
        reached = {position + o * 3**layer for position in reached for o in (-1, 0, 1)} & set(
            range(64)
        )
    assert 0 not in reached
    assert paths.path_length("dilated", 64, k=3) == 6


def longest_path(node: Any) -> int:
    """Return the longest path, by its definition; only for small graphs."""
    before = [back for back, _ in node.next_functions if back is not None]
    return 1 + max(map(longest_path, before)) if before else 0


@pytest.mark.parametrize("name", TABLE1_LAYERS)
def test_sequential_operations_equal_the_longest_path_in_the_graph(name: str) -> None:
    out = TABLE1_LAYERS[name](LayerConfig(4))(torch.zeros(1, 4, 4, requires_grad=True))
    assert paths.sequential_operations(name, 4, r=5) == longest_path(out.grad_fn)


def test_recurrent_steps_are_counted_by_their_tanh() -> None:
    out = TABLE1_LAYERS["recurrent"](LayerConfig(4))(torch.zeros(1, 9, 4, requires_grad=True))
    recorded, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in recorded:
            recorded.add(node)
            waiting += [back for back, _ in node.next_functions]
    assert (
        paths.recurrent_steps(9) == sum("Tanh" in type(node).__name__ for node in recorded) - 1 == 8
    )
