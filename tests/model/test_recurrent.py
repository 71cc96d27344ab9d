"""LSTM and GRU against torch's own with copied weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from transformer.model.rivals import GATED, Gated, Gru, Lstm, RivalConfig


def vectors(n: int, d: int = 6) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(2, n, d, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("ours", "theirs"), [(Lstm, nn.LSTM), (Gru, nn.GRU)])
@pytest.mark.parametrize("n", [1, 9])
def test_it_is_torchs(ours: type[Gated], theirs: type[nn.LSTM | nn.GRU], n: int) -> None:
    mine, other = ours(RivalConfig(6)).double(), theirs(6, 6, batch_first=True).double()
    with torch.no_grad():
        mine.b.normal_()
        other.weight_ih_l0.copy_(mine.w)
        other.weight_hh_l0.copy_(mine.u)
        other.bias_ih_l0.copy_(mine.b)
        other.bias_hh_l0.zero_()
    torch.testing.assert_close(mine(vectors(n)), other(vectors(n))[0])


@pytest.mark.parametrize("name", GATED)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    layer = GATED[name](RivalConfig(3)).double()
    x = vectors(4, d=3)[:1].requires_grad_()
    assert torch.autograd.gradcheck(layer, (x,))


def test_an_lstm_begins_by_keeping_what_it_has() -> None:
    assert Lstm(RivalConfig(4)).b.tolist() == [0] * 4 + [1] * 4 + [0] * 8


def test_the_recurrent_matrices_begin_orthogonal() -> None:
    for block in Gru(RivalConfig(5)).double().u.chunk(3):
        eye = torch.eye(5, dtype=torch.float64)
        torch.testing.assert_close(block @ block.T, eye, atol=1e-6, rtol=0)
