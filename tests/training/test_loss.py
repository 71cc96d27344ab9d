"""The smoothed cross-entropy and the divergence of R-Drop, compared with their formulas."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from transformer.training.loss import (
    smoothed_cross_entropy,
    symmetric_divergence,
    token_logits,
)

PAD = 0


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return states, weight, bias and target; about a third of the target is padding."""
    states, weight, bias = torch.randn(7, 5, 8), torch.randn(13, 8), torch.randn(13)
    target = torch.randint(1, 13, (7, 5)) * (torch.rand(7, 5) < 0.7)
    target[0, 0] = 1
    return states.to(dtype), weight.to(dtype), bias.to(dtype), target


def loss(
    states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    logits, gold = token_logits(states, weight, target, pad_id=PAD, bias=bias)
    return smoothed_cross_entropy(logits, gold, smoothing)


def by_formula(
    states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return -Σ q(k) log p(k) with q = (1 - ε) at the gold token plus ε / vocabulary (Szegedy et
    al. 2016), and the negative log-likelihood."""
    smoothed = plain = torch.zeros((), dtype=torch.float64)
    for state, gold in zip(states.double().flatten(0, 1), target.flatten(), strict=True):
        if gold != PAD:
            log_p = (weight.double() @ state + bias.double()).log_softmax(0)
            smoothed = smoothed - (1 - smoothing) * log_p[gold] - smoothing * log_p.mean()
            plain = plain - log_p[gold]
    return smoothed, plain


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_loss_and_gradients_equal_the_formula(smoothing: float, dtype: torch.dtype) -> None:
    states, weight, bias, target = inputs(dtype)
    leaves = [leaf.requires_grad_() for leaf in (states, weight, bias)]
    actual = loss(states, weight, bias, target, smoothing)
    assert actual[0].dtype == torch.promote_types(dtype, torch.float32)
    assert not actual[1].requires_grad
    expected = by_formula(states, weight, bias, target, smoothing)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.02}[dtype]
    for values in (
        (actual, expected),
        (torch.autograd.grad(actual[0], leaves), torch.autograd.grad(expected[0], leaves)),
    ):
        for one, other in zip(*values, strict=True):
            assert (one.double() - other).norm() <= tolerance * other.double().norm()


def test_loss_of_an_impossible_gold_token_is_finite() -> None:
    """Logits differ by a thousand, so the softmax underflows to 0."""
    states, weight, bias, target = inputs(torch.bfloat16)
    losses = loss(states * 400, weight, bias, target, 0.1)
    expected = by_formula(states * 400, weight, bias, target, 0.1)
    torch.testing.assert_close(
        tuple(value.double() for value in losses),
        tuple(value.double() for value in expected),
        rtol=0.01,
        atol=1,
    )


def test_the_divergence_is_that_of_both_distributions() -> None:
    """KL(p‖q) + KL(q‖p) = Σ p log(p/q) + Σ q log(q/p)."""
    p, q = (torch.randn(6, 13, dtype=torch.float64) for _ in range(2))
    p_, q_ = p.softmax(-1), q.softmax(-1)
    expected = (p_ * (p_ / q_).log()).sum() + (q_ * (q_ / p_).log()).sum()
    torch.testing.assert_close(symmetric_divergence(p, q), expected)
    assert symmetric_divergence(p, p) == 0
