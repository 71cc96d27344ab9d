"""The formulas of Table 1, and the multiplications of real layers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from transformer.analysis.table1.complexity import (
    TABLE_1,
    count_multiplications,
    equal_cost_length,
    evaluate_formulas,
    separable_cost,
)
from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig


def test_table_1_equals_hand_computed_numbers() -> None:
    """By hand: n = 100, d = 10, k = 5, r = 20."""
    table = evaluate_formulas(100, 10, 5, 20)
    assert list(table.index) == list(TABLE1_LAYERS) == list(TABLE_1)
    assert table["cost"].tolist() == [100_000, 10_000, 50_000, 20_000]
    assert table["steps"].tolist() == [1, 100, 1, 1]
    assert table["path"].tolist() == pytest.approx([1, 100, math.log(100, 5), 5])
    assert separable_cost(100, 10, 5) == 5 * 100 * 10 + 100 * 100


def test_the_formulas_hold_for_extreme_sizes() -> None:
    table = evaluate_formulas(6, 8, 1, 15)
    assert table["path"]["convolutional"] == math.inf  # a kernel of one position reads no other
    assert table["cost"]["restricted"] == table["cost"]["self-attention"]
    assert table["path"]["restricted"] == 1


def test_a_separable_convolution_with_k_n_costs_attention_plus_feed_forward() -> None:
    """Section 4: self-attention's n²·d, and n·d² of a position-wise layer."""
    costs = evaluate_formulas(50, 16, 3, 5)["cost"]
    assert separable_cost(50, 16, k=50) == costs["self-attention"] + costs["recurrent"]


@pytest.mark.parametrize("layer", TABLE_1)
@pytest.mark.parametrize("other_layer", TABLE_1)
def test_crossings_equal_a_search_over_all_lengths(layer: str, other_layer: str) -> None:
    d, k, r = 40, 5, 7
    lengths = np.arange(r, 2000)
    first, second = (
        np.array([TABLE_1[name].cost(n, d, k, r) for n in lengths], float)
        for name in (layer, other_layer)
    )
    signs = np.sign(first - second)
    crossing_lengths = lengths[1:][np.diff(signs) != 0]
    crossing_length = equal_cost_length(layer, other_layer, d, k, r)
    if layer == other_layer or not crossing_lengths.size:
        assert math.isnan(crossing_length)
    else:
        assert crossing_lengths[0] - 1 <= crossing_length <= crossing_lengths[0]


@pytest.mark.parametrize("name", TABLE1_LAYERS)
@pytest.mark.parametrize(("n", "d", "k", "r"), [(12, 8, 3, 5), (5, 16, 7, 3), (33, 4, 1, 9)])
def test_counts_equal_a_closed_form_and_pytorchs_counter(
    name: str, n: int, d: int, k: int, r: int
) -> None:
    counts = count_multiplications(name, n, d, k, r)
    expected = {
        "self-attention": {"attention.w_qkv": 3 * n * d**2, "attention.w_o": n * d**2}
        | {"": 2 * n**2 * d},
        "recurrent": {"w": n * d**2, "u": n * d**2},
        "convolutional": {"convolution.weight": k * n * d**2},
        "restricted": {"attention.w_qkv": 3 * n * d**2, "attention.w_o": n * d**2}
        | {"": 2 * r * n * d},
    }
    assert dict(counts.by_weight) == expected[name]
    layer = TABLE1_LAYERS[name](LayerConfig(d, k=k, r=r))
    with FlopCounterMode(display=False) as flops:
        layer(torch.zeros(1, n, d))
    assert 2 * counts.total == flops.get_total_flops()
