"""Gradients against finite differences, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.analysis.small_models import KINDS, TARGET, TEXT, randomized, trace_logits
from transformer.analysis.attribution.gradients import EMBEDDINGS, Gradients, gradients
from transformer.hooks import HookFn, Hooks
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer
from transformer.text.vocabulary import Vocabulary

STEP = 1e-5
ABLATION = {"decoder.layers.0.self_attn.hook_heads": lambda heads, _: heads * 0}


@pytest.fixture(scope="module")
def model(tiny_model: Transformer) -> Transformer:
    return randomized(tiny_model).double()


def log_probability(
    model: Transformer, trace: Trace, position: int | None, hooks: dict[str, HookFn]
) -> float:
    log_probabilities = trace_logits(model, trace, hooks).log_softmax(dim=-1)
    target_log_probabilities = log_probabilities[
        range(len(trace.predicted_ids)), list(trace.predicted_ids)
    ]
    return float(
        target_log_probabilities.sum() if position is None else target_log_probabilities[position]
    )


def derivative_along(
    model: Transformer, trace: Trace, position: int | None, name: str, direction: Tensor
) -> float:
    """Return the derivative of the log-probability when the site moves along `direction`."""
    up, down = (
        log_probability(model, trace, position, {name: lambda x, _, s=s: x + s * direction})
        for s in (STEP, -STEP)
    )
    return (up - down) / (2 * STEP)


@pytest.mark.parametrize("position", [None, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_weight_gradients_equal_finite_differences(
    model: Transformer, trace: Trace, kind: str, position: int | None
) -> None:
    gradient = gradients(model, trace, position)
    assert gradient.log_probability == pytest.approx(log_probability(model, trace, position, {}))
    for layer, head, query, key in ((0, 0, 3, 1), (0, 3, 2, 2), (1, 1, 3, 0), (1, 2, 3, 3)):
        cell = torch.zeros(1, *trace.weights(kind, layer).shape, dtype=torch.double)
        cell[0, head, query, key] = 1
        expected = derivative_along(model, trace, position, WEIGHTS[kind].format(layer), cell)
        assert gradient.weights[kind][layer, head, query, key] == pytest.approx(expected, rel=1e-5)
        assert abs(expected) > 1e-6, "the gradient is 0, so the test compares nothing"
    for layer in range(2):
        product = gradient.weights[kind][layer] * trace.weights(kind, layer)
        np.testing.assert_allclose(gradient.times_weight[kind][layer], product, atol=1e-5)


@pytest.mark.parametrize("position", [None, 3])
def test_embedding_gradients_equal_finite_differences(
    model: Transformer, trace: Trace, position: int | None
) -> None:
    """Gradient × embedding is the derivative with respect to a factor on the token's embedding."""
    gradient = gradients(model, trace, position)
    for name, saliency in zip(EMBEDDINGS, (gradient.source, gradient.target), strict=True):
        recorded: dict[str, Tensor] = {}
        log_probability(
            model, trace, None, {name: lambda x, n, recorded=recorded: recorded.update({n: x})}
        )
        for token in (0, 2, len(saliency) - 1):
            one_embedding = torch.zeros_like(recorded[name])
            one_embedding[0, token] = recorded[name][0, token]
            expected = derivative_along(model, trace, position, name, one_embedding)
            assert saliency[token] == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_the_total_is_the_sum_over_tokens(
    model: Transformer, trace: Trace, slopes: Gradients
) -> None:
    parts = [gradients(model, trace, position) for position in range(len(trace.predicted_ids))]
    assert sum(p.log_probability for p in parts) == pytest.approx(slopes.log_probability)
    for kind in KINDS:
        np.testing.assert_allclose(sum(p.weights[kind] for p in parts), slopes.weights[kind])
    np.testing.assert_allclose(sum(p.source for p in parts), slopes.source)
    np.testing.assert_allclose(sum(p.target for p in parts), slopes.target)


def test_gradients_are_those_of_the_model_with_hooks(
    model: Transformer, trace: Trace, tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    """With the hooks of the trace, the gradient is that of the ablated model. Weights that a hook
    replaces have a gradient, too."""
    altered = Translator(randomized(tiny_model), vocabulary).trace(
        TEXT, TARGET, hooks=Hooks(ABLATION)
    )
    gradient = gradients(model, altered, hooks=Hooks(ABLATION))
    assert gradient.log_probability == pytest.approx(altered.translation.log_probability, abs=1e-3)
    assert gradient.log_probability != pytest.approx(trace.translation.log_probability, abs=1e-3)
    assert not gradient.weights["decoder"][0].any()
    name = WEIGHTS["cross"].format(1)
    uniform_gradient = gradients(
        model, trace, hooks=Hooks({name: lambda w, _: torch.full_like(w, 0.1)})
    )
    weight = uniform_gradient.weights["cross"][1]
    np.testing.assert_allclose(uniform_gradient.times_weight["cross"][1], 0.1 * weight)
    assert weight.any()


def test_invalid_arguments_are_refused(
    model: Transformer, trace: Trace, tiny_model: Transformer
) -> None:
    with pytest.raises(ValueError, match=r"no position 99; the positions are 0 to \d+"):
        gradients(model, trace, 99)
    with pytest.raises(ValueError, match="no hook 'hook_logit'"):
        gradients(model, trace, hooks=Hooks({"hook_logit": lambda x, _: x}))
    # The shared model is still in float32 and has no gradients.
    with torch.no_grad():
        repeated = gradients(tiny_model, trace)
    assert repeated.source.dtype == np.float32
    assert all(parameter.grad is None for parameter in tiny_model.parameters())
