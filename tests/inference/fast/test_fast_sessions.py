"""The fast cached decoder gives the logits of a full forward pass at every step."""

from __future__ import annotations

import pytest
import torch

from tests.inference import models
from transformer.inference.fast.batch_session import INITIAL_CAPACITY, BatchSession
from transformer.inference.fast.weights import Bf16, DecoderWeights, Int8
from transformer.inference.sessions import Session, UncachedSession
from transformer.model.attention import padding_mask

SCORES = ["scaled_dot", "dot", "additive"]
POSITIONS = ["sinusoidal", "learned", "none"]
SRC = torch.tensor([[5, 6, 7, 2, 0, 0], [8, 9, 10, 11, 12, 2], [4, 2, 0, 0, 0, 0]])


def random_targets(length: int, rows: int = 3) -> torch.Tensor:
    targets = torch.randint(4, models.VOCAB_SIZE, (rows, length))
    targets[:, 0] = 1
    return targets


def check_logits(session: Session, tgt: torch.Tensor, expected: torch.Tensor) -> None:
    """Check the logits of every step."""
    torch.testing.assert_close(models.logits_of_steps(session, tgt), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("score", SCORES)
@torch.inference_mode()
def test_a_padded_batch_equals_a_full_forward_pass(score: str, positions: str) -> None:
    """The targets are longer than the initial key-value cache, which has to grow."""
    model = models.untrained(score=score, positions=positions)
    tgt, mask = random_targets(2 * INITIAL_CAPACITY + 3), padding_mask(SRC, 0)
    session = BatchSession(DecoderWeights(model), model.encode(SRC, mask), mask, tgt.shape[1])
    check_logits(session, tgt, model(SRC, tgt))


@pytest.mark.parametrize("rows", [1, 2, 5, 6])
@torch.inference_mode()
def test_any_number_of_rows_equals_a_full_forward_pass(rows: int) -> None:
    """Products of 2 to 5 rows are computed in transposed form; those of other numbers are not."""
    model = models.untrained()
    src, tgt = SRC[1:2].expand(rows, -1), random_targets(70, rows)
    session = BatchSession(DecoderWeights(model), model.encode(src), padding_mask(src, 0), 70)
    check_logits(session, tgt, model(src, tgt))


@pytest.mark.parametrize("src_length", [1, 13, 40])
@torch.inference_mode()
def test_sources_of_any_length_equal_a_full_forward_pass(src_length: int) -> None:
    model = models.untrained()
    src = torch.randint(4, models.VOCAB_SIZE, (2, src_length))
    tgt, mask = random_targets(5, rows=2), padding_mask(src, 0)
    session = BatchSession(DecoderWeights(model), model.encode(src), mask, 5)
    check_logits(session, tgt, model(src, tgt))


@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 0, 2], [0, 0, 0], [2]])
@torch.inference_mode()
def test_selected_rows_continue_as_if_alone(rows: list[int]) -> None:
    """Beam search repeats and drops rows; a batch drops rows that have ended."""
    model = models.untrained()
    mask = padding_mask(SRC, 0)
    first_part = random_targets(9)
    second_part = random_targets(9, len(rows))
    memory = model.encode(SRC, mask)
    cached = BatchSession(DecoderWeights(model), memory, mask, 18)
    uncached = UncachedSession(model, memory, mask)
    expected = model(SRC[rows], torch.cat([first_part[rows], second_part], dim=1))[:, 9:]
    for session in (cached, uncached):
        models.logits_of_steps(session, first_part)
        session.select(rows)
        check_logits(session, second_part, expected)


@torch.inference_mode()
def test_rows_can_be_selected_repeatedly() -> None:
    """As in a beam search, rows are copied, reordered and dropped while the cache grows."""
    model = models.untrained()
    mask = padding_mask(SRC, 0)
    memory = model.encode(SRC, mask)
    cached = BatchSession(DecoderWeights(model), memory, mask, 50)
    uncached = UncachedSession(model, memory, mask)
    selections = [
        [0, 0, 1, 1, 2, 2],
        [1, 0, 3, 3, 4, 5],
        [0, 1, 3, 2, 4, 5],
        [5, 3, 0],
        [2, 2],
        [1],
    ]
    for rows in selections:
        tgt = random_targets(7, cached.rows)
        check_logits(cached, tgt, models.logits_of_steps(uncached, tgt))
        for session in (cached, uncached):
            session.select(rows)
        assert cached.rows == len(rows)
    tgt = random_targets(7, 1)
    check_logits(cached, tgt, models.logits_of_steps(uncached, tgt))


@torch.inference_mode()
def test_rewinding_discards_later_tokens() -> None:
    model = models.untrained()
    src, tgt = SRC[1:2], random_targets(12, rows=1)
    session = BatchSession(DecoderWeights(model), model.encode(src), padding_mask(src, 0), 20)
    models.logits_of_steps(session, torch.cat([tgt[:, :7], random_targets(5, rows=1)], dim=1))
    session.rewind(7)
    check_logits(session, tgt[:, 7:], model(src, tgt)[:, 7:])


@pytest.mark.parametrize(("weight_type", "max_error"), [(Bf16, 0.02), (Int8, 0.03)])
@torch.inference_mode()
def test_lower_precision_is_close(weight_type: type, max_error: float) -> None:
    """With rounded weights, logits differ by a few hundredths of their standard deviation."""
    model = models.untrained(d_model=64, n_heads=4, d_ff=128)
    src, tgt = SRC[1:2], random_targets(20, rows=1)
    exact = model(src, tgt)
    memory, mask = model.encode(src), padding_mask(src, 0)
    session = BatchSession(DecoderWeights(model, weight_type), memory, mask, 20)
    relative_error = (
        models.logits_of_steps(session, tgt) - exact
    ).square().mean().sqrt() / exact.std()
    assert 0 < relative_error < max_error
