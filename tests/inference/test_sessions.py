"""Decoding with cached keys and values gives the logits of a full forward pass at every step."""

from __future__ import annotations

import pytest
import torch

from tests.inference import models
from transformer.inference.sessions import CachedSession, Session, UncachedSession
from transformer.model.attention import padding_mask

SRC = torch.tensor([[5, 6, 7, 2, 0, 0], [8, 9, 10, 11, 12, 2], [4, 2, 0, 0, 0, 0]])


def random_targets(length: int, rows: int = 3) -> torch.Tensor:
    words = torch.randint(4, models.VOCAB_SIZE, (rows, length))
    words[:, 0] = 1
    return words


def check_logits(session: Session, tgt: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(models.logits_of_steps(session, tgt), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
@torch.inference_mode()
def test_a_padded_batch_equals_a_full_forward_pass(score: str, positions: str) -> None:
    model = models.untrained(score=score, positions=positions)
    tgt, mask = random_targets(19), padding_mask(SRC, 0)
    check_logits(CachedSession(model, model.encode(SRC, mask), mask), tgt, model(SRC, tgt))


@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 0, 2], [0, 0, 0], [2]])
@torch.inference_mode()
def test_selected_rows_continue_as_if_alone(rows: list[int]) -> None:
    """Beam search repeats and drops rows; a batch drops rows that have ended."""
    model = models.untrained(biases=True)
    mask = padding_mask(SRC, 0)
    first_part = random_targets(9)
    second_part = random_targets(9, len(rows))
    memory = model.encode(SRC, mask)
    expected = model(SRC[rows], torch.cat([first_part[rows], second_part], dim=1))[:, 9:]
    for session in (CachedSession(model, memory, mask), UncachedSession(model, memory, mask)):
        models.logits_of_steps(session, first_part)
        session.select(rows)
        check_logits(session, second_part, expected)
