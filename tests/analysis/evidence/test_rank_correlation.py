"""Spearman's rank correlation, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from transformer.analysis.attribution.contribution import rank_correlations


def test_rank_correlations_are_scipys() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 4, (2, 3, 7)).astype(float), generator.random((3, 7))
    found = rank_correlations(a, b)
    for i, j in np.ndindex(found.shape):
        assert found[i, j] == pytest.approx(spearmanr(a[i, j], b[j]).statistic)
    assert np.isnan(rank_correlations(np.ones((1, 1, 4)), b[:1, :4])).all()
