"""Positional encodings, compared with the closed form of section 3.5."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from tests.model.small import make_config, make_ids, make_model
from transformer.model.positions import (
    LearnedPositions,
    NoPositions,
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
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64))
    return torch.block_diag(*blocks)


@pytest.mark.parametrize("d_model", [1, 2, 7, 16, 33, 512])
def test_sinusoids_equal_the_closed_form(d_model: int) -> None:
    expected = torch.tensor([closed_form(pos, d_model) for pos in range(50)])
    torch.testing.assert_close(sinusoidal(50, d_model), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", [1, 31, 5_000, 1_000_000])
def test_sinusoids_from_any_start_equal_the_closed_form(start: int) -> None:
    expected = torch.tensor([closed_form(pos, 9) for pos in range(start, start + 4)])
    torch.testing.assert_close(sinusoidal(4, 9, start), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("k", [1, 5, 64, -3])
def test_a_shift_matrix_does_not_depend_on_the_position(k: int) -> None:
    table = sinusoidal(200, 32).double()
    rotated = table[10:100] @ shift_matrix(k, 32).T
    torch.testing.assert_close(rotated, table[10 + k : 100 + k], rtol=0, atol=1e-6)


def test_positions_differ_and_have_equal_norms() -> None:
    table = sinusoidal(300, 64).double()
    torch.testing.assert_close(table.square().sum(-1), torch.full((300,), 32.0).double())
    assert all(not torch.allclose(a, b, atol=0.1) for a, b in pairwise(table))


def test_beyond_max_len_the_table_follows_the_closed_form() -> None:
    positions = SinusoidalPositions(make_config(max_len=8))
    for length, start in [(8, 0), (9, 0), (40, 0), (1, 8), (5, 6), (3, 700)]:
        expected = torch.tensor([closed_form(p, 24) for p in range(start, start + length)])
        torch.testing.assert_close(positions(length, start), expected, rtol=0, atol=1e-6)
    assert positions.table.shape == (8, 24)  # the table that threads share has not grown
    assert not positions.state_dict()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_rows_beyond_the_table_have_its_dtype(dtype: torch.dtype) -> None:
    positions = SinusoidalPositions(make_config(max_len=8)).to(dtype)
    assert positions(9).dtype == positions(8).dtype == dtype
    assert torch.equal(positions(9)[:8], positions(8))


def test_learned_positions_refuse_longer_inputs() -> None:
    positions = LearnedPositions(make_config(max_len=32))
    assert torch.equal(positions(3, 29), positions.weight[29:])
    for length, start in [(33, 0), (1, 32), (4, 29)]:
        with pytest.raises(ValueError, match=rf"learned 32 positions; .* {start + length} tokens"):
            positions(length, start)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_model_with_learned_positions_refuses_longer_sentences(side: str) -> None:
    model = make_model(positions="learned")
    lengths = (33, 5) if side == "source" else (5, 33)
    with pytest.raises(ValueError, match="learned 32 positions; a sequence of 33 tokens"):
        model(*(make_ids(n) for n in lengths))


def test_a_model_with_sinusoids_accepts_longer_sentences() -> None:
    src, tgt = make_ids(50), make_ids(45)
    short, long = make_model(max_len=8), make_model(max_len=64)
    torch.testing.assert_close(short(src, tgt), long(src, tgt), rtol=0, atol=1e-6)


def test_only_used_learned_positions_get_a_gradient() -> None:
    model = make_model(positions="learned")
    model(make_ids(6), make_ids(4)).square().sum().backward()
    for stack, used in ((model.encoder, 6), (model.decoder, 4)):
        gradient = stack.embed.positions.weight.grad
        assert (gradient[:used] != 0).all()
        assert (gradient[used:] == 0).all()


def test_no_positions_are_zeros() -> None:
    assert torch.equal(NoPositions(make_config())(5, 3), torch.zeros(5, 24))


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned"])
def test_without_positions_the_encoder_cannot_tell_order(positions: str) -> None:
    model, src = make_model(positions=positions), make_ids(7)
    order = torch.tensor([3, 0, 6, 2, 1, 5, 4])
    shuffled = model.encode(src[:, order])
    is_order_invisible = torch.allclose(shuffled, model.encode(src)[:, order], atol=1e-9)
    assert is_order_invisible == (positions == "none")
