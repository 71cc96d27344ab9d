"""Value zeroing compared with passes in which hooks set one token's values to zero."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.analysis.small_models import (
    KINDS,
    TARGET,
    TEXT,
    trace_logits,
)
from transformer import Translator
from transformer.analysis.attribution import norms, value_zeroing
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer
from transformer.text import Vocabulary


def outputs(model: Transformer, trace: Trace, kind: str, layer: int, token: int | None) -> Tensor:
    """Return the layer's output with the values of one token set to zero, in a separate pass."""
    stack = "encoder" if kind == "encoder" else "decoder"
    layer_outputs: list[Tensor] = []

    def zero_value(values: Tensor, name: str) -> Tensor:
        values = values.clone()
        values[:, :, token] = 0
        return values

    hooks = {
        f"{stack}.layers.{layer}.ffn_norm.hook_output": lambda x, _: layer_outputs.append(x[0])
    }
    if token is not None:
        hooks[WEIGHTS[kind].format(layer).replace("weights", "value")] = zero_value
    trace_logits(model, trace, hooks)
    return layer_outputs[0].double()


@pytest.mark.parametrize(("kind", "layer"), list(itertools.product(KINDS, range(2))))
def test_scores_equal_forward_passes_without_the_token(
    model: Transformer, trace: Trace, kind: str, layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = value_zeroing.scores(model, trace, kind, layer)
    unchanged = outputs(model, trace, kind, layer, None)
    expected = [
        1 - torch.cosine_similarity(unchanged, outputs(model, trace, kind, layer, token), dim=-1)
        for token in range(changes.shape[1])
    ]
    np.testing.assert_allclose(changes, torch.stack(expected, dim=1).numpy(), rtol=2e-3, atol=2e-7)
    assert changes.max() > 1e-4, "no output changes, so the test compares nothing"
    if kind == "decoder":
        assert not np.triu(changes, 1).any()
    monkeypatch.setattr(norms, "MAX_BLOCK_NUMBERS", 1)
    one_by_one = value_zeroing.scores(model, trace, kind, layer)
    np.testing.assert_allclose(one_by_one, changes, rtol=2e-3, atol=2e-7)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_residual_connection_is_removed_with_the_token(
    model: Transformer, trace: Trace, kind: str
) -> None:
    """Compared with a pass in which the sum before the LayerNorm is only the attention's output."""
    mixed = value_zeroing._mixing(model, trace, kind, 1).astype(float)
    site = f"{kind}.layers.1.self_attn"
    recorded: list[Tensor] = []
    attention_output = torch.from_numpy(trace[f"{site}.hook_output"].copy())[None]
    hooks = {
        f"{site}_norm.hook_sum": lambda x, _: attention_output,
        f"{kind}.layers.1.ffn_norm.hook_output": lambda x, _: recorded.append(x[0]),
    }
    trace_logits(model, trace, hooks)
    unchanged = outputs(model, trace, kind, 1, None)
    expected = 1 - torch.cosine_similarity(unchanged, recorded[0].double(), dim=-1)
    residual = mixed - value_zeroing.scores(model, trace, kind, 1)
    np.testing.assert_allclose(residual, np.diag(expected.numpy()), rtol=2e-3, atol=2e-6)


def test_the_product_of_layers_sums_to_1_over_source_and_prefix(
    model: Transformer, trace: Trace
) -> None:
    relevance = value_zeroing.joint(model, trace)
    np.testing.assert_allclose(relevance.source.sum(-1) + relevance.target.sum(-1), 1, atol=1e-12)
    assert not np.triu(relevance.target[-1], 1).any()
    # The first layer by hand: the part from the memory belongs to the source, the rest to the
    # prefix; a
    # row sums to 1 over both.
    self_mixing = value_zeroing._mixing(model, trace, "decoder", 0)
    across = value_zeroing.scores(model, trace, "cross", 0).sum(axis=-1)
    share = across / (across + self_mixing.sum(axis=-1))
    np.testing.assert_allclose(relevance.source_share[0], share, rtol=1e-6)
    assert share.min() > 1e-3, "the source has no share, so the test compares nothing"


def test_incomplete_traces_and_those_of_other_models_are_refused(
    model: Transformer, trace: Trace, vocabulary: Vocabulary
) -> None:
    with pytest.raises(ValueError, match="layer"):
        value_zeroing.scores(model, trace, "cross", 7)
    names = [WEIGHTS["cross"].format(0)]
    few = Translator(model, vocabulary).trace(TEXT, TARGET, names=names)
    with pytest.raises(KeyError, match="hook_"):
        value_zeroing.scores(model, few, "cross", 0)
