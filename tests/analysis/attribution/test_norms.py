"""Norms compared with the matrices themselves, and with the effect of blanking a weight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from tests.analysis.small_models import KINDS, TARGET, TEXT
from transformer.analysis.attribution import norms
from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer
from transformer.text.vocabulary import Vocabulary

CASES = list(itertools.product(KINDS, range(2)))


@pytest.fixture(scope="module")
def translator(model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(model, vocabulary)


def keys_of(trace: Trace, kind: str, layer: int) -> np.ndarray:
    """Return x_j, the input of keys and values."""
    if kind == "cross":
        return trace["encoder.hook_memory"]
    if layer:
        return trace[f"{kind}.layers.{layer - 1}.ffn_norm.hook_output"]
    return trace[f"{kind}.embed.hook_output"]


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_a_transformed_vector_is_the_key_times_w_v_and_w_o(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> None:
    attention = model.get_submodule(WEIGHTS[kind].format(layer).rpartition(".")[0])
    x = torch.tensor(keys_of(trace, kind, layer)).double()
    sent = norms.vectors(model, trace, kind, layer)
    for head in range(4):
        rows = slice(16 * head, 16 * head + 16)
        value = x @ attention.w_v.detach().double()[rows].T
        expected = value @ attention.w_o.detach().double()[:, rows].T
        np.testing.assert_allclose(sent[head], expected, atol=1e-5)


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_contributions_sum_to_the_attention_output(
    any_trace: tuple[Translator, Trace], kind: str, layer: int
) -> None:
    """The paper's attention has no biases, so nothing remains; otherwise b^O does."""
    model, trace = any_trace[0].model, any_trace[1]
    module, site = norms.attention_module(model, trace, kind, layer)
    bias = 0.0 if module.b_o is None else norms.to_array(module.b_o)
    assert model.config.biases == bool(np.abs(bias).max() > 0.1), (
        "with biases the remainder must not be 0"
    )
    weights, sent = trace.weights(kind, layer), norms.vectors(model, trace, kind, layer)
    total = np.einsum("hqk,hkd->qd", weights.astype(np.float64), sent)
    np.testing.assert_allclose(total + bias, trace[f"{site}.hook_output"], atol=1e-5)


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_a_norm_is_the_change_of_the_output_without_the_weight(
    translator: Translator, trace: Trace, kind: str, layer: int
) -> None:
    site = WEIGHTS[kind].format(layer).removesuffix(".hook_weights")
    contributions = norms.contributions(translator.model, trace, kind, layer)
    assert contributions.shape == trace.weights(kind, layer).shape
    for head, query, key in ((0, 3, 1), (2, 5, 5), (3, 6, 0)):

        def blank(weights: torch.Tensor, _: str, at: tuple = (0, head, query, key)) -> torch.Tensor:
            weights = weights.clone()
            weights[at] = 0
            return weights

        name = f"{site}.hook_output"
        hooks = Hooks({f"{site}.hook_weights": blank})
        without = translator.trace(TEXT, TARGET, hooks=hooks, names=[name])
        change = np.linalg.norm(without[name] - trace[name], axis=-1)
        assert change[query] == pytest.approx(contributions[head, query, key], abs=1e-5)
        assert contributions[head, query, key] > 1e-3
        np.testing.assert_allclose(np.delete(change, query), 0, atol=1e-5)


def test_invalid_arguments_are_refused(translator: Translator, trace: Trace) -> None:
    with pytest.raises(ValueError, match="the layers are 0 to 1"):
        norms.contributions(translator.model, trace, "cross", 2)
    last = norms.contributions(translator.model, trace, "cross", -1)
    assert (last == norms.contributions(translator.model, trace, "cross", 1)).all()
    other_model = Transformer(ModelConfig(vocab_size=320, d_model=32, n_layers=2, n_heads=4))
    with pytest.raises(ValueError, match=r"d_model 64, n_layers 2.*the model has d_model 32"):
        norms.contributions(other_model, trace, "cross", 0)
    few = translator.trace(TEXT, TARGET, names=[WEIGHTS["cross"].format(0)])
    with pytest.raises(KeyError, match=r"no 'decoder\.layers\.0\.cross_attn\.hook_value'"):
        norms.contributions(translator.model, few, "cross", 0)
