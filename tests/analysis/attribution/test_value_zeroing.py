"""Value zeroing, held against passes through hooks in which one token's values really are zero."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.analysis.made import KINDS, TARGET, TEXT, lively, without_values
from transformer import Hooks, Translator
from transformer.analysis.attribution import norms, value_zeroing
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer
from transformer.text import Vocabulary


def outputs(model: Transformer, trace: Trace, kind: str, layer: int, off: int | None) -> Tensor:
    """What the layer puts out with the values of token `off` at zero, in a pass of its own."""
    stack = "encoder" if kind == "encoder" else "decoder"
    found: list[Tensor] = []

    def silence(values: Tensor, name: str) -> Tensor:
        values = values.clone()
        values[:, :, off] = 0
        return values

    hooks = {f"{stack}.layers.{layer}.ffn_norm.hook_output": lambda x, _: found.append(x[0])}
    if off is not None:
        hooks[WEIGHTS[kind].format(layer).replace("weights", "value")] = silence
    with torch.no_grad():
        model(torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids]), hooks=Hooks(hooks))
    return found[0].double()


@pytest.mark.parametrize(("kind", "layer"), list(itertools.product(KINDS, range(2))))
def test_scores_are_those_of_passes_without_the_token(
    model: Transformer, trace: Trace, kind: str, layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = value_zeroing.scores(model, trace, kind, layer)
    whole = outputs(model, trace, kind, layer, None)
    wanted = [
        1 - torch.cosine_similarity(whole, outputs(model, trace, kind, layer, off), dim=-1)
        for off in range(found.shape[1])
    ]
    np.testing.assert_allclose(found, torch.stack(wanted, dim=1).numpy(), rtol=2e-3, atol=2e-7)
    assert found.max() > 1e-4, "a layer in which nothing changes would prove nothing"
    if kind == "decoder":
        assert not np.triu(found, 1).any()
    monkeypatch.setattr(norms, "BLOCK", 1)
    one_by_one = value_zeroing.scores(model, trace, kind, layer)
    np.testing.assert_allclose(one_by_one, found, rtol=2e-3, atol=2e-7)


def test_where_nothing_is_said_nothing_is_missed(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    """The values of every attention are 0."""
    deaf = without_values(lively(tiny_model), "_attn")
    trace = Translator(deaf, vocabulary).trace(TEXT, TARGET)
    for kind in KINDS:
        assert not value_zeroing.scores(deaf, trace, kind, 1).any()


def test_a_trace_that_lacks_something_or_is_of_another_model_is_refused(
    model: Transformer, trace: Trace, vocabulary: Vocabulary
) -> None:
    with pytest.raises(ValueError, match="layer"):
        value_zeroing.scores(model, trace, "cross", 7)
    names = [WEIGHTS["cross"].format(0)]
    few = Translator(model, vocabulary).trace(TEXT, TARGET, names=names)
    with pytest.raises(KeyError, match="hook_"):
        value_zeroing.scores(model, few, "cross", 0)
