"""The loss that is computed in slices has the same values and gradients as PyTorch's."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from transformer.training import fast_loss
from transformer.training.fast_loss import SLICE_ROWS, sliced_cross_entropy
from transformer.training.loss import smoothed_cross_entropy

PAD = 0


class LossAndGradients(NamedTuple):
    smoothed: Tensor
    plain: Tensor
    grad_states: Tensor
    grad_weight: Tensor


def inputs(
    batch: int, tgt: int, d_model: int = 8, vocab: int = 13, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Return states and weights for which some tokens are likely; about a third is padding."""
    states = torch.randn(batch, tgt, d_model, dtype=torch.float64).to(dtype)
    weight = torch.randn(vocab, d_model, dtype=torch.float64).to(dtype)
    target = torch.randint(1, vocab, (batch, tgt)) * (torch.rand(batch, tgt) < 0.7)
    target[0, 0] = 1
    return states, weight, target


def compute_sliced(
    states: Tensor, weight: Tensor, target: Tensor, smoothing: float
) -> LossAndGradients:
    leaves = states.clone().requires_grad_(), weight.clone().requires_grad_()
    smoothed, plain = sliced_cross_entropy(*leaves, target, smoothing=smoothing, pad_id=PAD)
    return LossAndGradients(smoothed.detach(), plain, *torch.autograd.grad(smoothed, leaves))


def compute_with_torch(
    states: Tensor, weight: Tensor, target: Tensor, smoothing: float
) -> LossAndGradients:
    leaves = states.clone().requires_grad_(), weight.clone().requires_grad_()
    logits = (leaves[0] @ leaves[1].T).flatten(0, 1)
    cross_entropy = partial(
        functional.cross_entropy, logits, target.flatten(), ignore_index=PAD, reduction="sum"
    )
    smoothed, plain = cross_entropy(label_smoothing=smoothing), cross_entropy().detach()
    return LossAndGradients(smoothed.detach(), plain, *torch.autograd.grad(smoothed, leaves))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_loss_over_all_logits_equals_the_sliced_loss(smoothing: float, dtype: torch.dtype) -> None:
    states, weight, target = inputs(7, 5, dtype=dtype)
    bias = torch.randn(len(weight), dtype=dtype)
    options = {"smoothing": smoothing, "pad_id": PAD, "bias": bias}
    actual = smoothed_cross_entropy(states, weight, target, **options)
    expected = sliced_cross_entropy(states, weight, target, **options)
    tolerance = 1e-12 if dtype == torch.float64 else 0.02  # bfloat16: 8 bits
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("slice_rows", [1, 7, 34, 35, 512])
def test_equals_torch_in_float64(
    smoothing: float, slice_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_loss, "SLICE_ROWS", slice_rows)
    data = inputs(7, 5)
    for actual, expected in zip(
        compute_sliced(*data, smoothing), compute_with_torch(*data, smoothing), strict=True
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_bias_equals_a_constant_state(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias, as in imported models, equals a weight on a constant state of 1."""
    monkeypatch.setattr(fast_loss, "SLICE_ROWS", 4)
    states, weight, target = inputs(7, 5, d_model=9)
    states[..., 8] = 1
    reference = compute_with_torch(states, weight, target, smoothing)
    leaves = [
        part.clone().requires_grad_() for part in (states[..., :8], weight[:, :8], weight[:, 8])
    ]
    actual, plain = sliced_cross_entropy(
        *leaves[:2], target, smoothing=smoothing, pad_id=PAD, bias=leaves[2]
    )
    sliced = (actual, plain, *torch.autograd.grad(actual, leaves))
    by_state, by_weight = reference.grad_states[..., :8], reference.grad_weight
    expected = (reference.smoothed, reference.plain, by_state, by_weight[:, :8], by_weight[:, 8])
    torch.testing.assert_close(sliced, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_torch_in_float32_over_several_slices(smoothing: float) -> None:
    data = inputs(50, 41, d_model=16, vocab=60, dtype=torch.float32)
    assert (data[2] != PAD).sum() > 2 * SLICE_ROWS
    for actual, expected in zip(
        compute_sliced(*data, smoothing), compute_with_torch(*data, smoothing), strict=True
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-4)


def test_bfloat16_is_within_two_percent() -> None:
    data = inputs(40, 30, d_model=32, vocab=300, dtype=torch.bfloat16)
    exact = compute_with_torch(data[0].double(), data[1].double(), data[2], 0.1)
    rounded = compute_sliced(*data, 0.1)
    assert rounded.smoothed.dtype == rounded.plain.dtype == torch.float32
    assert rounded.grad_states.dtype == rounded.grad_weight.dtype == torch.bfloat16
    for actual, expected in zip(rounded, exact, strict=True):
        assert (actual.double() - expected).norm() < 0.02 * expected.norm()


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradients_equal_finite_differences(
    smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_loss, "SLICE_ROWS", 4)
    states, weight, target = inputs(3, 4, d_model=3, vocab=5)

    def smoothed(states: Tensor, weight: Tensor) -> Tensor:
        return sliced_cross_entropy(states, weight, target, smoothing=smoothing, pad_id=PAD)[0]

    assert torch.autograd.gradcheck(smoothed, (states.requires_grad_(), weight.requires_grad_()))


def test_plain_loss_equals_the_unsmoothed_loss() -> None:
    data = inputs(6, 5)
    plain, smoothed = compute_sliced(*data, 0.0), compute_sliced(*data, 0.2)
    assert torch.equal(plain.plain, plain.smoothed)
    assert torch.equal(plain.plain, smoothed.plain)
    assert not torch.allclose(smoothed.plain, smoothed.smoothed)


def test_padding_has_no_influence() -> None:
    states, weight, target = inputs(6, 5)
    padded = compute_sliced(states, weight, target, 0.1)
    assert (padded.grad_states[target == PAD] == 0).all()
    changed = torch.where((target == PAD)[..., None], 1e3, states)
    with_changed_padding = compute_sliced(changed, weight, target, 0.1)
    assert all(torch.equal(a, b) for a, b in zip(padded, with_changed_padding, strict=True))
    is_token = target != PAD
    without_padding = compute_sliced(states[is_token][None], weight, target[is_token][None], 0.1)
    torch.testing.assert_close(without_padding.smoothed, padded.smoothed)
    torch.testing.assert_close(without_padding.grad_weight, padded.grad_weight)


def test_another_padding_id_is_respected() -> None:
    states, weight, target = inputs(6, 5)
    swapped = torch.where(target == PAD, 4, torch.where(target == 4, PAD, target))
    order = [4, 1, 2, 3, PAD, *range(5, 13)]
    plain = sliced_cross_entropy(states, weight, target, smoothing=0.1, pad_id=PAD)
    other_id = sliced_cross_entropy(states, weight[order], swapped, smoothing=0.1, pad_id=4)
    torch.testing.assert_close(other_id, plain)


def test_loss_of_padding_alone_is_zero() -> None:
    states, weight, target = inputs(2, 3)
    assert all(
        (part == 0).all() for part in compute_sliced(states, weight, torch.zeros_like(target), 0.1)
    )


def test_a_batch_is_the_sum_of_its_sentences() -> None:
    states, weight, target = inputs(5, 4)
    batched = compute_sliced(states, weight, target, 0.1)
    rows = [compute_sliced(states[i : i + 1], weight, target[i : i + 1], 0.1) for i in range(5)]
    torch.testing.assert_close(batched.smoothed, sum(row.smoothed for row in rows))
    torch.testing.assert_close(batched.grad_weight, sum(row.grad_weight for row in rows))


def test_a_factor_on_the_loss_is_a_factor_on_its_gradients() -> None:
    states, weight, target = inputs(4, 3)
    leaf = states.clone().requires_grad_()
    smoothed, _ = sliced_cross_entropy(leaf, weight, target, smoothing=0.1, pad_id=PAD)
    (smoothed / 8).backward()
    torch.testing.assert_close(
        leaf.grad, compute_sliced(states, weight, target, 0.1).grad_states / 8
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_losses_of_impossible_gold_tokens_are_finite(dtype: torch.dtype) -> None:
    """Logits differ by a thousand, so the softmax is 0: loss and gradient are still correct."""
    states, weight, target = inputs(4, 3, dtype=dtype)
    sliced = compute_sliced(states * 400, weight, target, 0.1)
    exact = compute_with_torch((states * 400).double(), weight.double(), target, 0.1)
    assert all(part.isfinite().all() for part in sliced)
    torch.testing.assert_close(sliced.plain.double(), exact.plain, rtol=0.01, atol=1)
    if dtype == torch.float32:  # bfloat16 rounds such logits to multiples of 8
        torch.testing.assert_close(
            sliced.grad_states.double(), exact.grad_states, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("leaf", ["states", "weight"])
def test_one_input_alone_may_require_a_gradient(leaf: str) -> None:
    states, weight, target = inputs(4, 3)
    parameter = {"states": states, "weight": weight}[leaf].requires_grad_()
    smoothed, plain = sliced_cross_entropy(states, weight, target, smoothing=0.1, pad_id=PAD)
    smoothed.backward()
    assert not plain.requires_grad
    expected = compute_sliced(states.detach(), weight.detach(), target, 0.1)
    torch.testing.assert_close(parameter.grad, getattr(expected, f"grad_{leaf}"))


def test_no_gradient_is_computed_under_no_grad(monkeypatch: pytest.MonkeyPatch) -> None:
    states, weight, target = inputs(4, 3)
    weight.requires_grad_()
    expected = compute_sliced(states, weight.detach(), target, 0.1)

    error = AssertionError("an unused gradient was computed")
    monkeypatch.setattr(torch, "mm", Mock(side_effect=error))
    with torch.no_grad():
        losses = sliced_cross_entropy(states, weight, target, smoothing=0.1, pad_id=PAD)
    torch.testing.assert_close(losses, (expected.smoothed, expected.plain))
    with pytest.raises(AssertionError, match="unused gradient"):
        sliced_cross_entropy(states, weight, target, smoothing=0.1, pad_id=PAD)


def test_second_derivatives_are_refused() -> None:
    """They would silently be zero, because the gradient is computed without an autograd graph."""
    states, weight, target = inputs(4, 3)
    leaf = states.requires_grad_()
    smoothed, _ = sliced_cross_entropy(leaf, weight, target, smoothing=0.1, pad_id=PAD)
    factor = torch.ones((), dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(smoothed * factor, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        gradient.sum().backward()
