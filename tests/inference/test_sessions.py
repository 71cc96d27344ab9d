"""All decoding sessions give the distributions of a full forward pass at every step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.inference import models
from transformer.analysis.interventions.switching import gated
from transformer.hooks import Hooks
from transformer.inference.onnx_session import OnnxModel, OnnxSession
from transformer.inference.sessions import CachedSession, Session, UncachedSession
from transformer.model import Transformer
from transformer.model.attention import padding_mask

SRC = torch.tensor([[5, 6, 7, 2, 0, 0], [8, 9, 10, 11, 12, 2], [4, 2, 0, 0, 0, 0]])
POSITIONS = ["sinusoidal", "learned", "none"]
SCORES = ["scaled_dot", "dot", "additive"]


def onnx_session(model: Transformer, memory: torch.Tensor, mask: torch.Tensor) -> OnnxSession:
    return OnnxSession(OnnxModel(model), memory, mask)


MakeSession = Callable[[Transformer, torch.Tensor, torch.Tensor], Session]
SESSIONS = [CachedSession, pytest.param(onnx_session, marks=pytest.mark.cpu)]


def random_targets(length: int, rows: int = 3) -> torch.Tensor:
    words = torch.randint(4, models.VOCAB_SIZE, (rows, length))
    words[:, 0] = 1
    return words


def check_steps(session: Session, tgt: torch.Tensor, logits: torch.Tensor) -> None:
    log_probabilities = models.log_probabilities_of_steps(session, tgt)
    torch.testing.assert_close(log_probabilities, logits.log_softmax(dim=-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("make_session", SESSIONS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("score", SCORES)
@torch.inference_mode()
def test_a_padded_batch_equals_a_full_forward_pass(
    score: str, positions: str, make_session: MakeSession
) -> None:
    model = models.untrained(score=score, positions=positions)
    tgt, mask = random_targets(19), padding_mask(SRC, 0)
    check_steps(make_session(model, model.encode(SRC, mask), mask), tgt, model(SRC, tgt))


@pytest.mark.cpu
@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize("activation", ["relu", "swish", "gelu"])
@torch.inference_mode()
def test_onnx_graphs_have_all_fields_of_an_imported_model(activation: str, imported: bool) -> None:
    model = models.untrained(
        activation=activation,
        biases=imported,
        output_bias=imported,
        scale_embedding=not imported,
    )
    tgt, mask = random_targets(9), padding_mask(SRC, 0)
    memory = OnnxModel(model).encode(SRC, mask)
    real = mask[:, 0, 0]
    torch.testing.assert_close(memory[real], model.encode(SRC, mask)[real], atol=1e-5, rtol=0)
    check_steps(onnx_session(model, memory, mask), tgt, model(SRC, tgt))


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.cpu
@torch.inference_mode()
def test_the_onnx_encoder_equals_the_model(score: str, positions: str) -> None:
    model = models.untrained(score=score, positions=positions)
    for src in (SRC, SRC[1:2], SRC[2:, :2], SRC[1:2, :1]):
        mask = padding_mask(src, 0)
        states = OnnxModel(model).encode(src, mask)
        real = mask[:, 0, 0]
        torch.testing.assert_close(states[real], model.encode(src, mask)[real], atol=1e-5, rtol=0)


@pytest.mark.cpu
@torch.inference_mode()
def test_outputs_longer_than_the_table_of_positions() -> None:
    model = models.untrained(max_len=4)
    tgt, mask = random_targets(9), padding_mask(SRC, 0)
    memory = OnnxModel(model).encode(SRC, mask)
    check_steps(onnx_session(model, memory, mask), tgt, model(SRC, tgt))


@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 0, 2], [0, 0, 0], [2]])
@pytest.mark.parametrize("make_session", [UncachedSession, *SESSIONS])
@torch.inference_mode()
def test_selected_rows_continue_as_if_alone(rows: list[int], make_session: MakeSession) -> None:
    """Beam search repeats and drops rows; a batch drops rows that have ended."""
    model = models.untrained(biases=True)
    mask = padding_mask(SRC, 0)
    first_part = random_targets(9)
    second_part = random_targets(9, len(rows))
    expected = model(SRC[rows], torch.cat([first_part[rows], second_part], dim=1))[:, 9:]
    session = make_session(model, model.encode(SRC, mask), mask)
    models.log_probabilities_of_steps(session, first_part)
    session.select(rows)
    check_steps(session, second_part, expected)


def last_row_only(x: torch.Tensor, name: str) -> torch.Tensor:
    """Double row 5, wherever it exists; add the mean of the rows so far to each row."""
    changed = x + x.cumsum(dim=-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
    if x.shape[-2] > 5:
        changed[..., 5, :] *= 2
    return changed


def in_place(x: torch.Tensor, name: str) -> None:
    x *= 1.5


STREAM, HEADS = "decoder.layers.0.ffn_norm.hook_output", "decoder.layers.1.self_attn.hook_heads"
CAUSAL_HOOKS = {
    "one head off": lambda model: gated(model.config, {("decoder", 0, 1): 0.0, ("cross", 1, 0): 2}),
    "rows by position": lambda model: Hooks({STREAM: last_row_only}, causal=True),
    "in place": lambda model: Hooks({HEADS: in_place}, causal=True),
    "keys and values": lambda model: Hooks(
        {"decoder.*hook_key": lambda x, name: x * 2, "decoder.*hook_value": last_row_only},
        causal=True,
    ),
    "everything": lambda model: Hooks(
        {"decoder*": lambda x, name: x * 1.1, "hook_logits": lambda x, name: x + 1}, causal=True
    ),
}


@pytest.mark.parametrize("name", CAUSAL_HOOKS)
@torch.inference_mode()
def test_causal_hooks_with_cached_keys_equal_a_run_without_cache(name: str) -> None:
    """Hooks receive the tensors of all positions so far, also after rows were selected."""
    model, rows = models.untrained(), [1, 1, 0, 2]
    hooks, mask = CAUSAL_HOOKS[name](model), padding_mask(SRC, 0)
    memory = model.encode(SRC, mask, hooks)
    cached, uncached = (
        make(model, memory, mask, hooks) for make in (CachedSession, UncachedSession)
    )
    plain = CachedSession(model, memory, mask)
    tgt, more = random_targets(8), random_targets(8, len(rows))
    expected = models.log_probabilities_of_steps(uncached, tgt)
    check_steps(cached, tgt, expected)
    assert not torch.allclose(models.log_probabilities_of_steps(plain, tgt), expected, atol=1e-2)
    for session in (cached, uncached):
        session.select(rows)
    check_steps(cached, more, models.log_probabilities_of_steps(uncached, more))
