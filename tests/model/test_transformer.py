"""The complete model: one shared embedding, the paper's sizes, and its parts."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from tests.model.small import SRC, TGT, make_config, make_model
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.model.attention import padding_mask


def parameter_count(config: ModelConfig) -> int:
    with torch.device("meta"):
        return sum(weight.numel() for weight in Transformer(config).parameters())


@pytest.mark.parametrize(("preset", "millions"), [("base", 65), ("big", 213)])
def test_sizes_are_near_those_of_table_3(preset: str, millions: float) -> None:
    n_weights = parameter_count(ModelConfig.preset(preset, vocab_size=37_000))
    assert n_weights / 1e6 == pytest.approx(millions, rel=0.04)


def test_embeddings_are_rows_times_sqrt_d_model() -> None:
    model = make_model()
    expected = model.embedding.weight[SRC] * math.sqrt(24)
    torch.testing.assert_close(model.embed(SRC), expected)


def test_new_embeddings_have_variance_one_after_scaling() -> None:
    """Tokens and sinusoids (variance 1/2) then have similar norms."""
    model = Transformer(make_config(vocab_size=2000))
    assert model.embed(torch.arange(2000)[None]).var().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("gradients", [False, True])
def test_encode_decode_and_project_equal_forward(gradients: bool) -> None:
    model = make_model()
    with torch.set_grad_enabled(gradients):
        memory = model.encode(SRC)
        states = model.decode(TGT, memory, padding_mask(SRC, 0))
        assert torch.equal(model.project(states), model(SRC, TGT))


def test_evaluation_is_deterministic_and_training_uses_dropout() -> None:
    model = make_model(dropout=0.3)
    assert torch.equal(model(SRC, TGT), model(SRC, TGT))
    model.train()
    assert not torch.allclose(model(SRC, TGT), model(SRC, TGT))


@torch.no_grad()
def test_copies_and_loaded_models_give_equal_numbers() -> None:
    model = make_model(positions="learned", score="additive")
    other_model = make_model(seed=1, positions="learned", score="additive")
    logits = model(SRC, TGT)
    assert not torch.allclose(other_model(SRC, TGT), logits)
    other_model.load_state_dict(model.state_dict())
    for copy_ in (other_model, copy.deepcopy(model)):
        assert torch.equal(copy_(SRC, TGT), logits)
        assert copy_.hook_names == model.hook_names


@torch.no_grad()
def test_bfloat16_is_close_to_float32() -> None:
    model = make_model(dtype=torch.float32)
    exact = model(SRC, TGT).log_softmax(-1)[TGT != 0]
    rounded = model.bfloat16()(SRC, TGT)[TGT != 0]
    assert rounded.dtype == torch.bfloat16
    difference = (rounded.float().log_softmax(-1) - exact).abs()
    assert difference.mean() < 0.05 * exact.std()
