"""The learning rate equals equation 3, and can end with a linear decrease."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.training.schedule import learning_rate, paper_rate, rate_curves

steps = st.integers(1, 10**6)
warmups = st.integers(1, 20_000)
widths = st.integers(1, 4096)
progresses = st.floats(0, 1.5)


@given(step=steps, d_model=widths, warmup=warmups)
def test_rate_equals_equation_3(step: int, d_model: int, warmup: int) -> None:
    """The expected rate has two cases of the step, where equation 3 has a minimum."""
    peak = (d_model * warmup) ** -0.5
    expected = peak * step / warmup if step <= warmup else peak * (warmup / step) ** 0.5
    assert paper_rate(step, d_model, warmup) == pytest.approx(expected)
    assert learning_rate(step, d_model=d_model, warmup=warmup) == pytest.approx(expected)


@given(d_model=widths, warmup=warmups)
def test_the_rate_is_the_lower_of_two_curves_that_meet_at_its_peak(
    d_model: int, warmup: int
) -> None:
    curves = rate_curves(d_model, warmup)
    peak, before = (d_model * warmup) ** -0.5, curves.steps <= warmup
    np.testing.assert_allclose(curves.rate[before], peak * curves.steps[before] / warmup)
    np.testing.assert_allclose(curves.rate[~before], peak * (warmup / curves.steps[~before]) ** 0.5)
    np.testing.assert_allclose(curves.rate, np.minimum(curves.rising, curves.falling))
    assert curves.rate[curves.steps == warmup] == pytest.approx(peak)
    assert (curves.steps[0], curves.steps[-1]) == (1, 4 * warmup)


@given(step=steps, progress=progresses, cooldown=st.floats(0.01, 0.99))
def test_cooldown_is_linear(step: int, progress: float, cooldown: float) -> None:
    plain = learning_rate(step, d_model=64, warmup=100)
    rate = learning_rate(step, d_model=64, warmup=100, progress=progress, cooldown=cooldown)
    cooldown_start = 1 - cooldown
    if progress <= cooldown_start:
        assert rate == pytest.approx(plain)
    elif progress >= 1:
        assert rate == 0
    else:
        assert rate == pytest.approx(plain * (1 - (progress - cooldown_start) / cooldown))
