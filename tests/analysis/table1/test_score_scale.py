"""Scores as d_k grows: closed forms, torch's gradients, and a hand-made trace."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from transformer.analysis.table1.score_scale import (
    KINDS,
    draw,
    jacobian_norm,
    measure,
    softmax,
    variance,
)
from transformer.config import Score
from transformer.model.attention import ScoreFunction

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_equal_the_models_score_function(kind: Score) -> None:
    """The same query and keys through `ScoreFunction` and autograd."""
    d_k, keys, rows, seed = 6, 5, 3, 4
    sample = draw(d_k, keys=keys, rows=rows, seed=seed)[kind]
    rng = np.random.default_rng([seed, d_k, keys, rows])
    query = torch.from_numpy(rng.standard_normal((rows, 1, d_k), np.float32)).double()
    key = torch.from_numpy(rng.standard_normal((rows, keys, d_k), np.float32)).double()
    v = torch.from_numpy(rng.uniform(-(d_k**-0.5), d_k**-0.5, (rows, d_k)))
    function = ScoreFunction(kind, rows, d_k).double()
    if kind == "additive":
        function.v.data = v
    query.requires_grad_()
    scores = function(query[None], key[None])[0, :, 0]  # every row is a head
    weights = scores.softmax(-1)
    np.testing.assert_allclose(sample.scores, scores.detach(), atol=1e-6)
    np.testing.assert_allclose(sample.weights, weights.detach(), atol=1e-6)
    for j in range(keys):
        (gradient,) = torch.autograd.grad(weights[:, j].sum(), query, retain_graph=True)
        np.testing.assert_allclose(
            sample.query_gradients[:, j], gradient[:, 0].norm(dim=-1), atol=1e-6
        )
    np.testing.assert_allclose(sample.gradient**2, (sample.query_gradients**2).sum(-1))


def test_the_jacobian_norm_equals_finite_differences() -> None:
    scores, step = RNG.normal(size=7) * 2, 1e-6
    columns = []
    for j in range(7):
        nudge = np.eye(7)[j] * step
        columns.append((softmax(scores + nudge) - softmax(scores - nudge)) / (2 * step))
    assert jacobian_norm(softmax(scores)) == pytest.approx(
        np.linalg.norm(np.stack(columns)), rel=1e-7
    )


def test_the_jacobian_norm_equals_its_closed_form() -> None:
    assert jacobian_norm(np.array([0.5, 0.5])) == pytest.approx(0.5)
    assert jacobian_norm(np.array([1.0, 0.0, 0.0])) == 0
    uniform = np.full(32, 1 / 32)  # of n equal weights: √(1/n - 1/n²)
    assert jacobian_norm(uniform) == pytest.approx(math.sqrt(1 / 32 - 1 / 32**2))
    # Nearly all weight on one key: √2 times the rest, without loss of precision.
    assert jacobian_norm(np.array([1 - 1e-12, 1e-12])) == pytest.approx(2e-12, rel=1e-3)


@pytest.mark.parametrize("d_k", [4, 64, 512])
def test_the_variance_equals_its_closed_form(d_k: int) -> None:
    """Footnote 4: q·k has variance d_k. Within four standard errors over the rows."""
    for kind, sample in draw(d_k, rows=400, seed=7).items():
        variances = sample.scores.var(axis=-1, ddof=1)
        error = variances.std() / math.sqrt(len(variances))
        assert abs(variances.mean() - variance(kind, d_k)) < 4 * error, kind


def test_the_variance_of_additive_scores_equals_a_simulation() -> None:
    """A simulation with four million numbers instead of the quadrature."""
    q = RNG.normal(size=(40000, 1))
    within = np.tanh(q + RNG.normal(size=(40000, 100))).var(axis=-1, ddof=1).mean()
    assert variance("additive", 5) == pytest.approx(within / 3, rel=0.01)
    assert variance("additive", 5) == variance("additive", 500)
    assert variance("dot", 77) == 77
    assert variance("scaled_dot", 77) == 1


def test_unscaled_scores_saturate_the_softmax() -> None:
    table = measure((4, 256), rows=64).set_index(["score", "d_k"])
    assert table.loc[("dot", 256), "saturated"] > 0.3
    assert table.loc[("dot", 4), "saturated"] < 0.05
    for kind in ("scaled_dot", "additive"):
        assert table.loc[(kind, 256), "saturated"] == 0
        near, far = table.loc[(kind, 4)], table.loc[(kind, 256)]
        assert far["gradient"] == pytest.approx(near["gradient"], rel=0.2)
    dot = table.loc[("dot", 256)]
    assert dot["largest"] > 0.8
    assert dot["gradient_low"] < dot["gradient"] < dot["gradient_high"]
    assert dot["gradient_mean"] > 3 * dot["gradient"]  # a few rows have nearly all of it
