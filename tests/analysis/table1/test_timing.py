"""Fitted slopes compared with scipy, and the results of a measurement; never its speed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import linregress

from transformer.analysis.table1 import timing
from transformer.analysis.table1.complexity import count_multiplications
from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig

LONG = [n for n in timing.LENGTHS if n >= timing.MIN_FITTED_LENGTH]


def test_slopes_and_standard_errors_equal_scipy() -> None:
    n = np.array(LONG, float)
    seconds = 1e-7 * n**1.7 * np.array([1.1, 0.9, 1.05, 0.97, 1.02])[: len(n)]
    fit, expected = timing.slope(n, seconds), linregress(np.log(n), np.log(seconds))
    assert fit.slope == pytest.approx(expected.slope)
    assert fit.error == pytest.approx(expected.stderr)
    assert fit.lengths == len(n)


def test_few_points_have_no_standard_error() -> None:
    two = timing.slope(np.array([1.0, 4.0]), np.array([3.0, 48.0]))
    assert two.slope == pytest.approx(2)
    assert math.isnan(two.error)
    assert math.isnan(timing.slope(np.array([8.0]), np.array([1.0])).slope)


def test_slopes_leave_short_sequences_out() -> None:
    """Times of long sequences follow a power law, those of short ones do not."""
    timings = [
        timing.Timing(
            name, n, 1e-6 * n**power if n >= timing.MIN_FITTED_LENGTH else 5.0, 1e-5 * n, n, 3
        )
        for power, name in enumerate(TABLE1_LAYERS)
        for n in timing.LENGTHS
    ]
    by_layer = timing.slopes(timings)
    for power, name in enumerate(TABLE1_LAYERS):
        assert by_layer[name]["forward"].slope == pytest.approx(power)
        assert by_layer[name]["backward"].slope == pytest.approx(1)
        assert by_layer[name]["forward"].lengths == len(LONG)
    assert len(timing.timing_table(timings)) == len(timings)


def test_a_small_time_budget_ends_early() -> None:
    timings = list(timing.measure(d=8, k=3, r=5, budget=0.05))
    assert {measured.layer for measured in timings} <= set(TABLE1_LAYERS)
    assert timings[0].layer == "self-attention"
    assert timings[0].n == timing.LENGTHS[0]
    assert (
        timings[0].products == count_multiplications("self-attention", timing.LENGTHS[0], 8).total
    )
    assert all(
        measured.forward > 0 and measured.backward > 0 and measured.runs >= 3
        for measured in timings
    )
    assert len(timings) < len(TABLE1_LAYERS) * len(timing.LENGTHS)


def test_sizes_over_the_memory_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    config = LayerConfig(8, r=5)
    limit = timing.memory("self-attention", 128, config)
    monkeypatch.setattr("transformer.analysis.table1.timing.MAX_MEMORY_BYTES", limit)
    longest = {measured.layer: measured.n for measured in timing.measure(d=8, r=5, budget=4.0)}
    assert longest["self-attention"] == 128 < longest["convolutional"]


def test_partial_results_are_reported_with_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    progress_calls: list[tuple[float, str, int]] = []

    def progress(share: float, stage: str, so_far: dict[str, list[object]]) -> None:
        progress_calls.append((share, stage, len(so_far["timings"])))

    timings = [
        timing.Timing(**fields)
        for fields in timing.compute({"d": 8, "budget": 0.001}, progress)["timings"]
    ]
    assert timings[0].layer == "self-attention"
    assert progress_calls[0] == (
        1 / (len(timing.LENGTHS) * len(TABLE1_LAYERS)),
        "measuring self-attention",
        1,
    )
    assert [count_multiplications for *_, count_multiplications in progress_calls] == [
        *range(1, len(timings) + 1)
    ]
