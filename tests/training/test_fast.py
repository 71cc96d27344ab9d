"""What is put into a model for the speed of training: the right distribution, and nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.model.small import make_model
from transformer.training.fast import ByteDropout, byte_mask, use_byte_dropout


def test_every_dropout_of_the_model_is_replaced_and_nothing_else() -> None:
    model = make_model(dropout=0.3)
    before = {name: type(module) for name, module in model.named_modules()}
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    use_byte_dropout(model)
    use_byte_dropout(model)
    for name, module in model.named_modules():
        if before[name] is nn.Dropout:
            assert isinstance(module, ByteDropout)
            assert module.p == 0.3
        else:
            assert type(module) is before[name]
    assert nn.Dropout in before.values()
    assert model.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


N = 400_003  # no multiple of the eight numbers that share a draw


def near_rate(n_dropped: float, rate: float, n: int, sigmas: float = 5) -> bool:
    """Whether a binomial count is within so many standard deviations of its mean."""
    return abs(n_dropped - n * rate) <= sigmas * math.sqrt(n * rate * (1 - rate))


@pytest.mark.parametrize("p", [0.004, 0.1, 0.15, 0.3, 0.5, 0.9, 0.995, 0.999])
def test_rate_and_mean(p: float) -> None:
    drop = ByteDropout(p)
    rate = min(round(p * 256), 255) / 256
    assert abs(rate - p) <= 1 / 512 or (rate == 255 / 256 and p > rate)
    x = torch.full((N,), 3.0, dtype=torch.float64)
    y = drop(x)
    n_dropped = int((y == 0).sum())
    assert near_rate(n_dropped, rate, N)
    kept_values = y[y != 0]
    torch.testing.assert_close(kept_values, torch.full_like(kept_values, 3 / (1 - rate)))
    deviation = 3 * math.sqrt(rate / (1 - rate) / N)
    assert abs(y.mean().item() - 3) < 5 * deviation


def test_all_eight_places_of_a_draw_are_alike_and_independent() -> None:
    dropped = (byte_mask(torch.ones(8 * 50_000), 64) == 0).view(-1, 8).double()
    for bit in range(8):
        assert near_rate(dropped[:, bit].sum().item(), 0.25, 50_000)
        for other_bit in range(bit):
            joint_mean = (dropped[:, bit] * dropped[:, other_bit]).sum().item()
            assert near_rate(joint_mean, 0.25**2, 50_000)
    after = (dropped.flatten()[1:] * dropped.flatten()[:-1]).sum().item()
    assert abs(after / (8 * 50_000 - 1) - 0.25**2) < 0.003


@given(
    shape=st.lists(st.integers(0, 7), max_size=4),
    threshold=st.integers(0, 255),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_masks_of_any_shape_hold_two_values(
    shape: list[int], threshold: int, dtype: torch.dtype
) -> None:
    x = torch.ones(shape, dtype=dtype)
    mask = byte_mask(x, threshold)
    assert mask.shape == x.shape
    assert mask.dtype == dtype
    scale = torch.tensor(256 / (256 - threshold)).to(dtype)
    assert ((mask == 0) | torch.isclose(mask, scale, rtol=0.01)).all()
    assert threshold or (mask == 1).all()


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_evaluation_hands_on_the_very_tensor(p: float) -> None:
    x = torch.randn(5, 6)
    assert ByteDropout(p).eval()(x) is x


def test_no_dropout_draws_nothing() -> None:
    before = torch.get_rng_state()
    x = torch.randn(0)
    assert ByteDropout(0.0)(x) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_the_seed_decides() -> None:
    drop, x = ByteDropout(0.5), torch.randn(7, 33)
    torch.manual_seed(3)
    first, second = drop(x), drop(x)
    torch.manual_seed(3)
    assert torch.equal(drop(x), first)
    assert torch.equal(drop(x), second)
    assert not torch.equal(first, second)
    torch.manual_seed(4)
    assert not torch.equal(drop(x), first)


def test_the_gradient_passes_by_the_same_mask() -> None:
    x = torch.randn(40, 41, dtype=torch.float64, requires_grad=True)
    y = ByteDropout(0.3)(x)
    y.backward(torch.full_like(y, 2.0))
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), 2 * y.detach())
    assert torch.equal(x.grad == 0, y == 0)


def test_tensors_that_are_views_are_masked_like_any() -> None:
    x = torch.ones(30, 50).T
    torch.manual_seed(1)
    masked = ByteDropout(0.5)(x)
    torch.manual_seed(1)
    assert torch.equal(ByteDropout(0.5)(x.contiguous()), masked)
    assert torch.equal(x, torch.ones(50, 30))


def test_mean_in_bfloat16_is_off_by_rounding_alone() -> None:
    y = ByteDropout(0.1)(torch.ones(N, dtype=torch.bfloat16))
    assert y.float().mean().item() == pytest.approx(1, abs=2**-8)
