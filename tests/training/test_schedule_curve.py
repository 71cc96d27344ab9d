"""The curve of equation 3: a line up, a root down, and the peak between them."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.training.schedule import paper_rate
from transformer.training.schedule_curve import rates


def test_the_rate_rises_in_a_line_and_falls_with_the_root() -> None:
    found = rates(512, 4000, 20_000)
    assert found.peak == (4000, pytest.approx(paper_rate(4000, 512, 4000)))
    assert found.peak[1] == pytest.approx(6.99e-4, rel=1e-3)  # (512 · 4000)^-½
    assert found.rate.max() == pytest.approx(found.peak[1])
    assert 4000 in found.steps
    np.testing.assert_allclose(found.rate, np.minimum(found.rising, found.falling))
    early, late = found.steps <= 4000, found.steps >= 4000
    np.testing.assert_allclose(found.rate[early], found.peak[1] * found.steps[early] / 4000)
    np.testing.assert_allclose(found.rate[late], found.peak[1] * (found.steps[late] / 4000) ** -0.5)
    assert found.rate[-1] == pytest.approx(found.peak[1] * found.after(5))
    with pytest.raises(ValueError, match="warmup must be at least 1"):
        rates(512, 0, 10)
