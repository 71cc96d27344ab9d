"""The identities of attribution on a model as others train them: biases, swish, an output bias."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from tests.analysis.made import KINDS, TARGET, TEXT, lively
from transformer.analysis.attribution import alti, norms
from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer
from transformer.text.vocabulary import Vocabulary

CASES = list(itertools.product(KINDS, range(2)))


@pytest.fixture(scope="module")
def translator(vocabulary: Vocabulary) -> Translator:
    config = ModelConfig.preset(
        "tiny", vocab_size=len(vocabulary), biases=True, activation="swish", output_bias=True
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = lively(Transformer(config))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith(("b_qkv", "b_o")):
                    parameter.normal_(0, 0.3)
    return Translator(model, vocabulary)


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, TARGET)


def b_o(model: Transformer, trace: Trace, kind: str, layer: int) -> np.ndarray:
    module, _ = norms.attention(model, trace, kind, layer)
    assert module.b_o is not None
    return module.b_o.detach().double().numpy()


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_over_the_keys_they_add_up_to_the_output_less_its_bias(
    translator: Translator, trace: Trace, kind: str, layer: int
) -> None:
    model = translator.model
    _, site = norms.attention(model, trace, kind, layer)
    parts = np.concatenate(list(norms.sums(model, trace, kind, layer))).sum(axis=1)
    bias = b_o(model, trace, kind, layer)
    np.testing.assert_allclose(parts + bias, trace[f"{site}.hook_output"], atol=1e-5)
    assert np.abs(bias).max() > 0.1, "or nothing would be left over"


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_altis_parts_add_up_to_the_output_less_shift_and_bias(
    translator: Translator, trace: Trace, kind: str, layer: int
) -> None:
    model = translator.model
    _, site = norms.attention(model, trace, kind, layer)
    norm = norms.add_and_norm(model, site).norm
    gamma, beta = (w.detach().double().numpy() for w in (norm.weight, norm.bias))
    total = trace[f"{site}_norm.hook_sum"].astype(float)
    sigma = np.sqrt(total.var(axis=-1, keepdims=True) + norm.eps)
    bias = b_o(model, trace, kind, layer)
    left = gamma * (bias - bias.mean()) / sigma + beta
    parts = np.concatenate(list(alti.transformed(model, trace, kind, layer))).sum(axis=1)
    np.testing.assert_allclose(parts + left, trace[f"{site}_norm.hook_output"], atol=1e-4)
    shares = alti.contributions(model, trace, kind, layer)
    np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_that_is_off_takes_its_vectors_away_and_no_bias(
    translator: Translator, trace: Trace, kind: str
) -> None:
    """Its mean value is not put in its place, and b^O stays."""
    model = translator.model
    _, site = norms.attention(model, trace, kind, 0)
    first = np.einsum(
        "qk,kd->qd",
        trace.weights(kind, 0)[0].astype(float),
        norms.vectors(model, trace, kind, 0)[0],
    )

    def off(heads: torch.Tensor, name: str) -> torch.Tensor:
        return torch.cat([torch.zeros_like(heads[:, :1]), heads[:, 1:]], dim=1)

    without = translator.trace(TEXT, TARGET, hooks=Hooks({f"{site}.hook_heads": off}))
    np.testing.assert_allclose(
        without[f"{site}.hook_output"] + first, trace[f"{site}.hook_output"], atol=1e-5
    )
