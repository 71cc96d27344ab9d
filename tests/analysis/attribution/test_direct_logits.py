"""Direct logit attribution: its parts sum to the logit, and each is the direct effect that it
claims to be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.analysis.small_models import randomized, trace_logits
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
    """Computed differently: hooks freeze every LayerNorm's deviation and close the paths above the
    head's layer, and the head is scaled by finite differences, in double precision."""
    position, step = 3, 1e-4
    exact = randomized(model).double()
    names = [
        n for n in exact.hook_names if n.startswith("decoder") and n.endswith("_norm.hook_sum")
    ]
    sublayer_outputs = [
        n
        for n in exact.hook_names
        if n.startswith("decoder.layers") and n.endswith(("attn.hook_output", "ffn.hook_output"))
    ]
    clean: dict[str, Tensor] = {}
    logits(
        exact, trace, {n: lambda x, n: clean.update({n: x}) for n in [*names, *sublayer_outputs]}
    )

    def value_with_scaled_head(kind: str, layer: int, head: int, by: float) -> float:
        sublayer = f"decoder.layers.{layer}.{KINDS[kind]}"
        hooks = {
            n: lambda x, n: clean[n] for n in sublayer_outputs if n != f"{sublayer}.hook_output"
        }
        hooks |= {n.replace("hook_sum", "hook_output"): with_clean_deviation(n) for n in names}
        hooks[f"{sublayer}.hook_heads"] = scale_head(head, by)
        hooks |= {n: record_sum(n) for n in names}
        position_logits = logits(exact, trace, hooks)[position]
        return float(position_logits[trace.predicted_ids[position]] - position_logits.mean())

    def record_sum(name: str):  # type: ignore[no-untyped-def]
        def record(x: Tensor, _: str) -> None:
            current_sums[name] = x

        return record

    current_sums: dict[str, Tensor] = {}

    def with_clean_deviation(name: str):  # type: ignore[no-untyped-def]
        norm = exact.get_submodule(name.removesuffix(".hook_sum")).norm

        def normalize(_: Tensor, __: str) -> Tensor:
            deviation = (clean[name].var(-1, keepdim=True, correction=0) + norm.eps).sqrt()
            centred = current_sums[name] - current_sums[name].mean(-1, keepdim=True)
            return norm.weight * centred / deviation + norm.bias

        return normalize

    def scale_head(head: int, by: float):  # type: ignore[no-untyped-def]
        def scale_position(x: Tensor, _: str) -> Tensor:
            factors = torch.ones_like(x)
            factors[:, head, position] += by
            return x * factors

        return scale_position

    attribution = direct_logits(model, trace, position)
    sizes = []
    for kind in KINDS:
        for layer in range(model.config.n_layers):
            slope = (
                value_with_scaled_head(kind, layer, 1, step)
                - value_with_scaled_head(kind, layer, 1, -step)
            ) / (2 * step)
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
