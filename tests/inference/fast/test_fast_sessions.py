"""The cached decoders give the logits of the whole model, at every step, in every variant."""

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


def targets(length: int, rows: int = 3) -> torch.Tensor:
    words = torch.randint(4, models.VOCABULARY, (rows, length))
    words[:, 0] = 1
    return words


def check(session: Session, tgt: torch.Tensor, expected: torch.Tensor) -> None:
    """Check the logits of every step."""
    torch.testing.assert_close(models.logits_of_steps(session, tgt), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("score", SCORES)
@torch.inference_mode()
def test_a_padded_batch_equals_the_whole_model(score: str, positions: str) -> None:
    """Longer than the initial cache of keys, so that it has to grow."""
    model = models.untrained(score=score, positions=positions)
    tgt, mask = targets(2 * INITIAL_CAPACITY + 3), padding_mask(SRC, 0)
    session = BatchSession(DecoderWeights(model), model.encode(SRC, mask), mask, tgt.shape[1])
    check(session, tgt, model(SRC, tgt))


@pytest.mark.parametrize("rows", [1, 2, 5, 6])
@torch.inference_mode()
def test_any_number_of_rows_equals_the_whole_model(rows: int) -> None:
    """Products of 2 to 5 rows are computed by columns, (Wᵀ xᵀ)ᵀ; those of other numbers are not."""
    model = models.untrained()
    src, tgt = SRC[1:2].expand(rows, -1), targets(70, rows)
    session = BatchSession(DecoderWeights(model), model.encode(src), padding_mask(src, 0), 70)
    check(session, tgt, model(src, tgt))


@pytest.mark.parametrize("src_length", [1, 13, 40])
@torch.inference_mode()
def test_sources_of_any_length_equal_the_whole_model(src_length: int) -> None:
    model = models.untrained()
    src = torch.randint(4, models.VOCABULARY, (2, src_length))
    tgt, mask = targets(5, rows=2), padding_mask(src, 0)
    session = BatchSession(DecoderWeights(model), model.encode(src), mask, 5)
    check(session, tgt, model(src, tgt))


@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 0, 2], [0, 0, 0], [2]])
@torch.inference_mode()
def test_selected_rows_continue_as_if_alone(rows: list[int]) -> None:
    """Beam search repeats and drops rows; a batch drops rows that have ended."""
    model = models.untrained()
    mask, first, more = padding_mask(SRC, 0), targets(9), targets(9, len(rows))
    memory = model.encode(SRC, mask)
    cached = BatchSession(DecoderWeights(model), memory, mask, 18)
    plain = UncachedSession(model, memory, mask)
    expected = model(SRC[rows], torch.cat([first[rows], more], dim=1))[:, 9:]
    for session in (cached, plain):
        models.logits_of_steps(session, first)
        session.select(rows)
        check(session, more, expected)


@torch.inference_mode()
def test_rows_can_be_selected_repeatedly() -> None:
    """As in a beam search, rows are copied, reordered and dropped while the cache grows."""
    model = models.untrained()
    mask = padding_mask(SRC, 0)
    memory = model.encode(SRC, mask)
    cached = BatchSession(DecoderWeights(model), memory, mask, 50)
    plain = UncachedSession(model, memory, mask)
    choices = [[0, 0, 1, 1, 2, 2], [1, 0, 3, 3, 4, 5], [0, 1, 3, 2, 4, 5], [5, 3, 0], [2, 2], [1]]
    for rows in choices:
        tgt = targets(7, cached.rows)
        check(cached, tgt, models.logits_of_steps(plain, tgt))
        for session in (cached, plain):
            session.select(rows)
        assert cached.rows == len(rows)
    tgt = targets(7, 1)
    check(cached, tgt, models.logits_of_steps(plain, tgt))


@torch.inference_mode()
def test_rewinding_discards_later_tokens() -> None:
    model = models.untrained()
    src, tgt = SRC[1:2], targets(12, rows=1)
    session = BatchSession(DecoderWeights(model), model.encode(src), padding_mask(src, 0), 20)
    models.logits_of_steps(session, torch.cat([tgt[:, :7], targets(5, rows=1)], dim=1))
    session.rewind(7)
    check(session, tgt[:, 7:], model(src, tgt)[:, 7:])


@pytest.mark.parametrize(("kind", "error"), [(Bf16, 0.02), (Int8, 0.03)])
@torch.inference_mode()
def test_lower_precision_is_close(kind: type, error: float) -> None:
    """Rounded copies of the same matrices: equal within a few hundredths of the standard
    deviation."""
    model = models.untrained(d_model=64, n_heads=4, d_ff=128)
    src, tgt = SRC[1:2], targets(20, rows=1)
    exact = model(src, tgt)
    memory, mask = model.encode(src), padding_mask(src, 0)
    session = BatchSession(DecoderWeights(model, kind), memory, mask, 20)
    relative_error = (
        models.logits_of_steps(session, tgt) - exact
    ).square().mean().sqrt() / exact.std()
    assert 0 < relative_error < error
