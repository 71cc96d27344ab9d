"""The complete model: one shared embedding, the paper's sizes, and its parts."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from tests.model.small import SRC, TGT, make_config, make_model
from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.attention import padding_mask


def parameter_count(config: ModelConfig) -> int:
    with torch.device("meta"):
        return sum(weight.numel() for weight in Transformer(config).parameters())


@pytest.mark.parametrize(("preset", "millions"), [("base", 65), ("big", 213)])
def test_sizes_are_near_those_of_table_3(preset: str, millions: float) -> None:
    n_weights = parameter_count(ModelConfig.preset(preset, vocab_size=37_000))
    assert n_weights / 1e6 == pytest.approx(millions, rel=0.04)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_the_parameter_count_equals_its_formula(positions: str, score: str) -> None:
    config = make_config(positions=positions, score=score)
    d, attention = 24, 4 * 24 * 24 + (24 if score == "additive" else 0)
    ffn, norm = d * 40 + 40 + 40 * d + d, 2 * d
    layers = 2 * (attention + ffn + 2 * norm) + 2 * (2 * attention + ffn + 3 * norm)
    table = 2 * 32 * d if positions == "learned" else 0  # one for the source, one for the target
    assert parameter_count(config) == 29 * d + layers + table


def test_embeddings_are_rows_times_sqrt_d_model() -> None:
    model = make_model()
    expected = model.embedding.weight[SRC] * math.sqrt(24)
    torch.testing.assert_close(model.embed(SRC), expected)


def test_new_embeddings_have_variance_one_after_scaling() -> None:
    """Tokens and sinusoids (variance 1/2) then have similar norms."""
    model = Transformer(make_config(vocab_size=2000))
    assert model.embed(torch.arange(2000)[None]).var().item() == pytest.approx(1, rel=0.05)


def test_source_target_and_output_share_one_matrix() -> None:
    model = make_model()
    (table,) = [w for w in model.parameters() if w.shape == (29, 24)]
    assert table is model.embedding.weight

    def detached(tensor: torch.Tensor, name: str) -> torch.Tensor:
        return tensor.detach()

    sites = ("encoder.embed.hook_tokens", "decoder.embed.hook_tokens")
    full_gradient = torch.autograd.grad(model(SRC, TGT).square().sum(), table)[0]
    # The same gradient, as the sum over its uses: the output, then each embedding.
    logits = model(SRC, TGT, hooks=Hooks(dict.fromkeys(sites, detached)))
    parts = [torch.autograd.grad(logits.square().sum(), table)[0]]
    for site in sites:
        states = model.decode(
            TGT,
            model.encode(SRC, hooks=Hooks({site: detached})),
            padding_mask(SRC, 0),
            hooks=Hooks({site: detached}),
        )
        logits = states @ table.detach().T
        parts.append(torch.autograd.grad(logits.square().sum(), table)[0])
    assert all(part.abs().max() > 0 for part in parts)
    torch.testing.assert_close(sum(parts), full_gradient)


def test_the_output_is_linear_in_the_embedding_and_has_no_bias() -> None:
    model, states = make_model(), torch.randn(2, 3, 24).double()
    torch.testing.assert_close(model.project(states), states @ model.embedding.weight.T)
    assert (model.project(torch.zeros(1, 1, 24).double()) == 0).all()


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


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
def test_a_few_steps_fit_one_sentence(score: str) -> None:
    """Gradients of the complete model decrease the loss."""
    model = make_model(dtype=torch.float32, score=score, n_layers=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    target = TGT[0, 1:5]

    def loss() -> torch.Tensor:
        logits = model(SRC[:1], TGT[:1, :4])[0]
        return torch.nn.functional.cross_entropy(logits, target)

    first = loss().item()
    for _ in range(30):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().item() < 0.05 * first
