"""Direct logit attribution: its parts sum to the logit, and each is the direct effect that it
claims to be."""

from __future__ import annotations

import pytest
from torch import Tensor

from tests.analysis.attribution.frozen_pass import LOGITS, FrozenPass
from tests.analysis.small_models import trace_logits
from transformer.analysis.attribution.direct_logits import KINDS, direct_logits
from transformer.hooks import HookFn
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer


@pytest.fixture(scope="module")
def model(any_trace: tuple[Translator, Trace]) -> Transformer:
    return any_trace[0].model


@pytest.fixture(scope="module")
def trace(any_trace: tuple[Translator, Trace]) -> Trace:
    return any_trace[1]


def logits(model: Transformer, trace: Trace, hooks: dict[str, HookFn] | None = None) -> Tensor:
    return trace_logits(model, trace, hooks).double()


@pytest.mark.parametrize("position", [0, 3])
def test_the_parts_sum_to_the_logit(model: Transformer, trace: Trace, position: int) -> None:
    position_logits, chosen = logits(model, trace)[position], trace.predicted_ids[position]
    size = float(position_logits.abs().max())
    attribution = direct_logits(model, trace, position)
    # The trace has float32 numbers, each with its own rounding error.
    assert attribution.value == pytest.approx(
        float(position_logits[chosen] - position_logits.mean()), abs=1e-5 * size
    )
    assert attribution.table["adds"].sum() == pytest.approx(attribution.value)
    rival = (chosen + 1) % len(position_logits)
    contrast = direct_logits(model, trace, position, against=rival)
    assert contrast.value == pytest.approx(
        float(position_logits[chosen] - position_logits[rival]), abs=1e-5 * size
    )
    assert (attribution.table["part"] == "cross").sum() == attribution.heads("cross").size


def test_a_direct_effect_is_the_derivative_with_fixed_layer_norms(
    model: Transformer, trace: Trace
) -> None:
    """Compared with central differences of the model's own logits (`FrozenPass`)."""
    position, chosen = 3, trace.predicted_ids[3]
    frozen = FrozenPass(model, trace)
    attribution = direct_logits(model, trace, position)
    sizes = []
    for kind, module in KINDS.items():
        for layer in range(model.config.n_layers):
            slopes = frozen.slope(f"decoder.layers.{layer}.{module}", 1, position, LOGITS)[position]
            slope = float(slopes[chosen] - slopes.mean())
            assert attribution.heads(kind)[layer, 1] == pytest.approx(slope, rel=1e-3, abs=1e-5)
            sizes.append(abs(slope))
    assert max(sizes) > 1e-3, "all slopes are 0, so the test compares nothing"


def test_the_ablation_effect_equals_a_pass_without_the_head(
    model: Transformer, trace: Trace
) -> None:
    position, layer, head = 2, 1, 2

    def ablate(x: Tensor, _: str) -> Tensor:
        x = x.clone()
        x[:, head, position] = 0
        return x

    attribution = direct_logits(model, trace, position)
    for kind, module in KINDS.items():
        name = f"decoder.layers.{layer}.{module}.hook_heads"
        position_logits = logits(model, trace, {name: ablate})[position]
        without = float(position_logits[trace.predicted_ids[position]] - position_logits.mean())
        assert attribution.removed(kind)[layer, head] == pytest.approx(
            attribution.value - without, abs=1e-4
        )
    assert -1 <= attribution.agreement <= 1


def test_invalid_positions_and_traces_are_refused(model: Transformer, trace: Trace) -> None:
    with pytest.raises(ValueError, match="there is no position 99"):
        direct_logits(model, trace, 99)
    with pytest.raises(ValueError, match="there is no token -1"):
        direct_logits(model, trace, 0, against=-1)
