"""Integrated gradients: completeness, a closed form, and the integral by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.analysis.small_models import TARGET, TEXT, new_model, randomized, trace_logits
from transformer.analysis.attribution.gradients import EMBEDDINGS, gradients, rival
from transformer.analysis.attribution.integrated import integrated_gradients
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer
from transformer.text.vocabulary import Vocabulary

ARCHITECTURES = [
    {},
    {"biases": True, "activation": "gelu", "output_bias": True, "scale_embedding": False},
]
POSITION = 3


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=["paper", "biases"])
def single_precision_model(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Transformer:
    return new_model(vocabulary, seed=1, **request.param).model


@pytest.fixture(scope="module")
def trace(single_precision_model: Transformer, vocabulary: Vocabulary) -> Trace:
    return Translator(single_precision_model, vocabulary).trace(TEXT, TARGET)


@pytest.fixture(scope="module")
def model(single_precision_model: Transformer) -> Transformer:
    """The same model in double precision: `randomized` uses a fixed seed."""
    return randomized(single_precision_model).double()


def rival_token_id(trace: Trace) -> int:
    candidates = trace.translation.steps[POSITION].candidates
    return next(c.id for c in candidates if c.id != trace.predicted_ids[POSITION])


def output_at_scale(
    model: Transformer, trace: Trace, scale: list[float] | float, against: int | None
) -> float:
    """Return the log-probability at POSITION, or its difference to that of the token `against`.

    The token embeddings are multiplied by `scale`, one number or one per side.
    """
    scales = [scale, scale] if isinstance(scale, float) else scale
    hooks = {name: lambda x, _, s=s: x * s for name, s in zip(EMBEDDINGS, scales, strict=True)}
    logits = trace_logits(model, trace, hooks)[POSITION].log_softmax(dim=-1)
    rival_logit = 0.0 if against is None else float(logits[against])
    return float(logits[trace.predicted_ids[POSITION]]) - rival_logit


@pytest.mark.parametrize("contrastive", [False, True])
def test_scores_sum_to_the_difference_from_the_baseline(
    model: Transformer, trace: Trace, contrastive: bool
) -> None:
    against = rival_token_id(trace) if contrastive else None
    integrated = integrated_gradients(model, trace, POSITION, against, steps=256)
    assert integrated.value == pytest.approx(output_at_scale(model, trace, 1.0, against), abs=1e-9)
    assert integrated.baseline == pytest.approx(
        output_at_scale(model, trace, 0.0, against), abs=1e-9
    )
    difference = integrated.value - integrated.baseline
    total = integrated.source.sum() + integrated.target.sum()
    assert integrated.gap == pytest.approx(total - difference, abs=1e-12)
    # ReLU is not smooth, so the error of the rule may fall only as 1 / steps.
    size = np.abs(integrated.source).sum() + np.abs(integrated.target).sum()
    assert abs(integrated.gap) < 0.01 * size
    assert size > 0.1, "all scores are 0, so the test compares nothing"
    few = integrated_gradients(model, trace, POSITION, against, steps=2)
    assert abs(integrated.gap) < abs(few.gap)


def test_each_side_is_the_integral_of_finite_differences(model: Transformer, trace: Trace) -> None:
    """∫ ∂f/∂s for the scale s of one side, by midpoints and central differences."""
    n, step = 100, 1e-5
    integrated = integrated_gradients(model, trace, POSITION, steps=256)
    for side, parts in enumerate((integrated.source, integrated.target)):
        total = 0.0
        for point in (np.arange(n) + 0.5) / n:
            up, down = ([point, point] for _ in range(2))
            up[side] += step
            down[side] -= step
            ends = (output_at_scale(model, trace, ends, None) for ends in (up, down))
            total += (next(ends) - next(ends)) / (2 * step) / n
        size = np.abs(integrated.source).sum() + np.abs(integrated.target).sum()
        assert parts.sum() == pytest.approx(total, abs=0.01 * size)


def test_for_a_linear_function_they_equal_the_gradient(
    model: Transformer, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If f is linear in the embeddings, one step is exact and all methods agree."""
    weights = torch.randn(model.config.d_model, generator=torch.Generator().manual_seed(0)).double()
    monkeypatch.setattr(
        model, "encode", lambda src, hooks: hooks[EMBEDDINGS[0]](None, EMBEDDINGS[0])
    )

    def decode(tgt: Tensor, memory: Tensor, hooks: Hooks) -> Tensor:
        words = hooks[EMBEDDINGS[1]](None, EMBEDDINGS[1])
        assert words is not None
        return (memory.sum(1, keepdim=True) + words.sum(1, keepdim=True)) * weights

    monkeypatch.setattr(model, "decode", decode)
    rival_id = rival_token_id(trace)
    integrated = integrated_gradients(model, trace, POSITION, rival_id, steps=1)
    rows = model.embedding.weight.detach()
    along = weights * (rows[trace.predicted_ids[POSITION]] - rows[rival_id])
    scale = model.config.embedding_scale
    for parts, ids in (
        (integrated.source, trace.src_ids),
        (integrated.target, trace.tgt_ids[: POSITION + 1]),
    ):
        expected = (rows[list(ids)] * scale * along).sum(-1).numpy()
        np.testing.assert_allclose(parts, expected, atol=1e-12)
    assert integrated.gap == pytest.approx(0, abs=1e-10)


def test_a_contrast_is_the_difference_of_two_attributions(model: Transformer, trace: Trace) -> None:
    rival_id, step = rival_token_id(trace), 1e-5
    gradient = gradients(model, trace, POSITION, against=rival_id)
    assert gradient.log_probability == pytest.approx(output_at_scale(model, trace, 1.0, rival_id))
    for side, parts in enumerate((gradient.source, gradient.target)):
        ends = []
        for sign in (step, -step):
            scales = [1.0, 1.0]
            scales[side] += sign
            ends.append(output_at_scale(model, trace, scales, rival_id))
        assert parts.sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-7)


def test_a_contrast_token_is_an_id_or_a_candidate(model: Transformer, trace: Trace) -> None:
    candidates = trace.translation.steps[POSITION].candidates
    predicted_id, rival_id = trace.predicted_ids[POSITION], rival_token_id(trace)
    piece = next(candidate.token for candidate in candidates if candidate.id == rival_id)
    assert rival(trace, POSITION, piece) == rival(trace, POSITION, rival_id) == rival_id
    with pytest.raises(ValueError, match="is not one of the candidates"):
        rival(trace, POSITION, "▁nowhere")
    with pytest.raises(ValueError, match="there is no token 99999; the ids are 0 to"):
        rival(trace, POSITION, 99999)
    with pytest.raises(ValueError, match="is the predicted token"):
        rival(trace, POSITION, predicted_id)
    with pytest.raises(ValueError, match="the positions are 0 to"):
        integrated_gradients(model, trace, 99)
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        integrated_gradients(model, trace, POSITION, steps=0)
    with pytest.raises(ValueError, match="pass its position too"):
        gradients(model, trace, against=rival_id)
