"""Positional encodings, compared with the closed form of section 3.5."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.model.small import make_config, make_ids, make_model
from transformer.model.positions import (
    LearnedPositions,
    SinusoidalPositions,
    sinusoidal,
)


def closed_form(pos: int, d_model: int) -> list[float]:
    """Return one row, computed in double precision."""
    row = []
    for dimension in range(d_model):
        angle = pos / 10000 ** (2 * (dimension // 2) / d_model)
        row.append(math.sin(angle) if dimension % 2 == 0 else math.cos(angle))
    return row


def shift_matrix(k: int, d_model: int) -> Tensor:
    """Return M_k: each pair (sine, cosine) is rotated by k times its frequency."""
    blocks = []
    for i in range(d_model // 2):
        angles = k / 10000 ** (2 * i / d_model)
        cos, sin = math.cos(angles), math.sin(angles)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64, device="cpu"))
    return torch.block_diag(*blocks)


@pytest.mark.parametrize("d_model", [1, 2, 7, 16, 33, 512])
def test_sinusoids_equal_the_closed_form(d_model: int) -> None:
    expected = torch.tensor([closed_form(pos, d_model) for pos in range(50)], device="cpu")
    torch.testing.assert_close(sinusoidal(50, d_model), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", [1, 31, 5_000, 1_000_000])
def test_sinusoids_from_any_start_equal_the_closed_form(start: int) -> None:
    positions = range(start, start + 4)
    expected = torch.tensor([closed_form(pos, 9) for pos in positions], device="cpu")
    torch.testing.assert_close(sinusoidal(4, 9, start), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("k", [1, 5, 64, -3])
def test_a_shift_matrix_does_not_depend_on_the_position(k: int) -> None:
    table = sinusoidal(200, 32).double()
    rotated = table[10:100] @ shift_matrix(k, 32).T
    torch.testing.assert_close(rotated, table[10 + k : 100 + k], rtol=0, atol=1e-6)


def test_beyond_max_len_the_table_follows_the_closed_form() -> None:
    positions = SinusoidalPositions(make_config(max_len=8))
    for length, start in [(8, 0), (9, 0), (40, 0), (1, 8), (5, 6), (3, 700)]:
        expected = torch.tensor([closed_form(p, 24) for p in range(start, start + length)])
        torch.testing.assert_close(positions(length, start), expected, rtol=0, atol=1e-6)
    assert positions.table.shape == (8, 24)  # the table that threads share has not grown
    assert not positions.state_dict()


def test_learned_positions_refuse_longer_inputs() -> None:
    positions = LearnedPositions(make_config(max_len=32))
    assert torch.equal(positions(3, 29), positions.weight[29:])
    for length, start in [(33, 0), (1, 32), (4, 29)]:
        with pytest.raises(ValueError, match=rf"learned 32 positions; .* {start + length} tokens"):
            positions(length, start)


def test_only_used_learned_positions_get_a_gradient() -> None:
    model = make_model(positions="learned")
    model(make_ids(6), make_ids(4)).square().sum().backward()
    for stack, used in ((model.encoder, 6), (model.decoder, 4)):
        gradient = stack.embed.positions.weight.grad
        assert (gradient[:used] != 0).all()
        assert (gradient[used:] == 0).all()


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned"])
def test_without_positions_the_encoder_cannot_tell_order(positions: str) -> None:
    model, src = make_model(positions=positions), make_ids(7)
    order = torch.tensor([3, 0, 6, 2, 1, 5, 4])
    shuffled = model.encode(src[:, order])
    is_order_invisible = torch.allclose(shuffled, model.encode(src)[:, order], atol=1e-9)
    assert is_order_invisible == (positions == "none")
