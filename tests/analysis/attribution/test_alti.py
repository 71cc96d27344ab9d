"""ALTI, compared with its definitions written as loops, and with sums that must hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.analysis.small_models import KINDS, TARGET, TEXT, randomized, without_values
from transformer.analysis.attribution import alti, norms
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer
from transformer.text.vocabulary import Vocabulary

CASES = list(itertools.product(KINDS, range(2)))


def stream(trace: Trace, kind: str, layer: int) -> np.ndarray:
    if kind == "cross":
        return trace[f"decoder.layers.{layer}.self_attn_norm.hook_output"].astype(float)
    below = f"layers.{layer - 1}.ffn_norm" if layer else "embed"
    return trace[f"{kind}.{below}.hook_output"].astype(float)


def contributions_by_loops(model: Transformer, trace: Trace, kind: str, layer: int) -> np.ndarray:
    """Compute c_ij from the definitions, one vector after the other, in double precision."""
    site = WEIGHTS[kind].format(layer).removesuffix(".hook_weights")
    attention, norm = model.get_submodule(site), model.get_submodule(f"{site}_norm").norm
    w_v, w_o = (w.detach().double().numpy() for w in (attention.w_v, attention.w_o))
    gamma, beta = (w.detach().double().numpy() for w in (norm.weight, norm.bias))
    x = stream(trace, kind, layer)
    keys = trace["encoder.hook_memory"].astype(float) if kind == "cross" else x
    alpha = trace.weights(kind, layer).astype(float)
    d = len(gamma)
    rows = []
    for i in range(len(x)):
        parts = [np.zeros(d) for _ in keys]
        for j, key in enumerate(keys):
            for head in range(4):
                of = slice(16 * head, 16 * head + 16)
                parts[j] = parts[j] + alpha[head, i, j] * (w_o[:, of] @ (w_v[of] @ key))
        if kind == "cross":
            parts.append(x[i])
        else:
            parts[i] = parts[i] + x[i]
        total = np.sum(parts, axis=0)
        sigma = np.sqrt(np.mean((total - total.mean()) ** 2) + 1e-5)
        linear = np.diag(gamma) @ (np.eye(d) - np.ones((d, d)) / d) / sigma
        y = linear @ total + beta
        c = [max(0.0, np.abs(y).sum() - np.abs(y - linear @ part).sum()) for part in parts]
        rows.append(np.array(c) / np.sum(c))
    return np.stack(rows)


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_contributions_equal_their_definition(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> None:
    contributions = alti.contributions(model, trace, kind, layer)
    np.testing.assert_allclose(
        contributions, contributions_by_loops(model, trace, kind, layer), atol=2e-5
    )
    np.testing.assert_allclose(contributions.sum(axis=-1), 1, atol=1e-12)
    assert contributions[-1].max() < 0.97, (
        "no position mixes with others, so the test compares nothing"
    )
    if kind == "decoder":
        assert not np.triu(contributions, 1).any(), "a later token has no share"


@pytest.mark.parametrize(("kind", "layer"), CASES)
def test_contributions_sum_to_the_output_without_beta(
    any_trace: tuple[Translator, Trace], kind: str, layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the paper's attention only β of the LayerNorm comes from no token; otherwise also b^O."""
    model, trace = any_trace[0].model, any_trace[1]
    module, site = norms.attention_module(model, trace, kind, layer)
    norm = norms.add_and_norm(model, site).norm
    shift = norm.bias.detach().double().numpy()
    if module.b_o is not None:
        bias, total = norms.to_array(module.b_o), trace[f"{site}_norm.hook_sum"].astype(float)
        sigma = np.sqrt(total.var(axis=-1, keepdims=True) + norm.eps)
        shift = shift + norms.to_array(norm.weight) * (bias - bias.mean()) / sigma
    parts = np.concatenate(list(alti.transformed(model, trace, kind, layer)))
    assert parts.shape[1] == len(trace.labels(kind)[1]) + (kind == "cross")
    output = trace[f"{site}_norm.hook_output"]
    np.testing.assert_allclose(parts.sum(axis=1), output - shift, atol=1e-5)
    shares = alti.contributions(model, trace, kind, layer)
    np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)
    monkeypatch.setattr(norms, "MAX_BLOCK_NUMBERS", 1)
    one_by_one = list(alti.transformed(model, trace, kind, layer))
    assert len(one_by_one) == len(output)
    np.testing.assert_allclose(np.concatenate(one_by_one), parts, atol=1e-6)


def test_all_layers_equal_one_product_over_encoder_and_decoder(
    model: Transformer, trace: Trace
) -> None:
    n_src, n_tgt = len(trace.src_tokens), len(trace.tgt_tokens)
    state = np.eye(n_src + n_tgt)
    rolled = alti.encoder(model, trace)
    for layer in range(2):
        state[:n_src] = contributions_by_loops(model, trace, "encoder", layer) @ state[:n_src]
        np.testing.assert_allclose(rolled[layer], state[:n_src, :n_src], atol=5e-5)
    relevance = alti.joint(model, trace)
    for layer in range(2):
        state[n_src:] = contributions_by_loops(model, trace, "decoder", layer) @ state[n_src:]
        across = contributions_by_loops(model, trace, "cross", layer)
        state[n_src:] = across[:, :-1] @ state[:n_src] + across[:, -1:] * state[n_src:]
        np.testing.assert_allclose(relevance.source[layer], state[n_src:, :n_src], atol=5e-5)
        np.testing.assert_allclose(relevance.target[layer], state[n_src:, n_src:], atol=5e-5)
    share = relevance.source_share
    np.testing.assert_allclose(share + relevance.target.sum(axis=-1), 1, atol=1e-12)
    assert share.shape == (2, n_tgt)
    assert share[-1].min() > 0
    assert share[-1].max() < 1


def test_a_source_without_contribution_has_share_0(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    """With all cross-attention values at 0, the decoder is a language model of the prefix."""
    model_without_values = without_values(randomized(tiny_model), "cross_attn")
    relevance = alti.joint(
        model_without_values, Translator(model_without_values, vocabulary).trace(TEXT, TARGET)
    )
    assert not relevance.source.any()
    np.testing.assert_allclose(relevance.target.sum(axis=-1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_without_positive_contributions_a_position_explains_itself(
    model: Transformer, trace: Trace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = WEIGHTS[kind].format(0).removesuffix(".hook_weights")
    output = trace[f"{site}_norm.hook_output"].astype(float)
    inputs = len(trace.labels(kind)[1]) + (kind == "cross")
    opposite = np.repeat(-output[:, None], inputs, axis=1)
    monkeypatch.setattr(alti, "transformed", lambda *_: iter([opposite]))
    contributions = alti.contributions(model, trace, kind, 0)
    expected = np.eye(inputs) if kind != "cross" else np.eye(inputs)[[-1] * len(output)]
    np.testing.assert_array_equal(contributions, expected)


def test_a_trace_without_the_needed_hook_points_is_refused(
    model: Transformer, trace: Trace, vocabulary: Vocabulary
) -> None:
    few = Translator(model, vocabulary).trace(TEXT, TARGET, names=["hook_logits"])
    with pytest.raises(ValueError, match=r"recorded without decoder\.layers\.0\.cross_attn"):
        alti.joint(model, few)
