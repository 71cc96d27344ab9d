"""Heads switched off, made uniform and scaled, compared with weights changed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.analysis.small_models import logits, with_gates
from transformer import Hooks, Translator
from transformer.analysis.interventions import switching
from transformer.analysis.interventions.patches import masked_tokens
from transformer.measures.kinds import KINDS

TEXT = "My aunt hides the lamp today."
SOME_HEADS = [
    ("encoder", 0, 1),
    ("encoder", 1, 3),
    ("decoder", 1, 0),
    ("cross", 0, 2),
    ("cross", 0, 3),
]


def test_gates_of_1_change_no_bit(translator: Translator) -> None:
    config = translator.model.config
    target = translator.vocabulary.encode("Ma tante cache la lampe.")
    hooks = switching.gated(config, dict.fromkeys(switching.all_heads(config), 1.0))
    assert len(hooks) == 3 * config.n_layers
    plain = logits(translator, TEXT, target)
    assert torch.equal(logits(translator, TEXT, target, hooks=hooks), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gate_scales_the_rows_of_w_o(translator: Translator, kind: str) -> None:
    gates = {(kind, 0, 1): 0.25, (kind, 0, 2): -1.0, (kind, 1, 3): 0.0}
    target = translator.vocabulary.encode("Un pilote vend des livres.")
    by_hooks = logits(
        translator, TEXT, target, hooks=switching.gated(translator.model.config, gates)
    )
    by_hand = Translator(with_gates(translator.model, gates), translator.vocabulary)
    torch.testing.assert_close(by_hooks, logits(by_hand, TEXT, target))
    assert not torch.allclose(by_hooks, logits(translator, TEXT, target))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_head_is_ablated_during_decoding_too(translator: Translator, beam_size: int) -> None:
    by_hand = Translator(
        with_gates(translator.model, dict.fromkeys(SOME_HEADS, 0.0)), translator.vocabulary
    )
    ablation = switching.switched_off(translator.model.config, SOME_HEADS)
    options = {"max_len": 12, "beam_size": beam_size}
    result = translator.translate(TEXT, hooks=ablation, **options)
    expected = by_hand.translate(TEXT, **options)
    assert result.ids == expected.ids
    assert result.log_probability == pytest.approx(expected.log_probability, abs=1e-4)


def test_uniform_attention_is_equal_over_unmasked_keys(translator: Translator) -> None:
    hooks = switching.uniform(translator.model.config, SOME_HEADS)
    before = translator.trace(TEXT, max_len=6)
    after = translator.trace(TEXT, before.predicted_ids, hooks=hooks)
    n_src, n_tgt = len(after.src_tokens), len(after.tgt_tokens)
    uniform = {
        "encoder": np.full((n_src, n_src), 1 / n_src),
        "cross": np.full((n_tgt, n_src), 1 / n_src),
        "decoder": np.tril(np.ones((n_tgt, n_tgt))) / np.arange(1, n_tgt + 1)[:, None],
    }
    for kind, layer, head in SOME_HEADS:
        np.testing.assert_allclose(after.weights(kind, layer)[head], uniform[kind], atol=1e-6)
    # Other heads of the lowest layer are unchanged.
    np.testing.assert_allclose(
        after.weights("encoder", 0)[0], before.weights("encoder", 0)[0], atol=1e-6
    )


def test_uniform_attention_ignores_padding_and_masked_tokens(translator: Translator) -> None:
    config, recorded = translator.model.config, {}
    name = "encoder.layers.0.self_attn.hook_weights"
    uniform = switching.uniform(config, [("encoder", 0, 1)])
    recorder = Hooks({name: lambda x, name: recorded.update({name: x.clone()})})
    short, long = (translator.vocabulary.encode(text) for text in ("She sells bread.", TEXT))
    padded = torch.tensor([short + [config.pad_id] * (len(long) - len(short)), long])
    with torch.no_grad():
        translator.model.encode(padded, hooks=switching.combined(uniform, recorder))
    expected = torch.zeros(len(long))
    expected[: len(short)] = 1 / len(short)
    torch.testing.assert_close(recorded[name][0, 1], expected.expand(len(long), -1))

    trace = translator.trace(TEXT, max_len=3)
    masked = masked_tokens(trace, [1, 2])
    for combined in (switching.combined(uniform, masked), switching.combined(masked, uniform)):
        row = translator.trace(TEXT, hooks=combined, max_len=3).weights("encoder", 0)[1, 0]
        assert row[1] == row[2] == 0
        np.testing.assert_allclose(np.delete(row, [1, 2]), 1 / (len(row) - 2), atol=1e-6)


def test_the_mean_is_over_all_positions_of_all_traces(translator: Translator) -> None:
    traces = [translator.trace(text, max_len=5) for text in (TEXT, "She paints.")]
    hooks = switching.to_mean(translator.model.config, [("cross", 1, 2)], traces)
    name = "decoder.layers.1.cross_attn.hook_heads"
    after = translator.trace(TEXT, hooks=hooks, max_len=5)[name]
    rows = np.concatenate([trace[name][2] for trace in traces])
    np.testing.assert_allclose(after[2], np.tile(rows.mean(axis=0), (5, 1)), atol=1e-6)
    assert np.ptp(after[1], axis=0).max() > 1e-4  # other heads are unchanged


def test_combined_hooks_run_in_order() -> None:
    def add_one(x: torch.Tensor, name: str) -> torch.Tensor:
        return x + 1

    def double(x: torch.Tensor, name: str) -> torch.Tensor:
        return x * 2

    recorded: list[float] = []
    recorder = Hooks({"a": lambda x, name: recorded.append(float(x))})
    combined = switching.combined(
        Hooks({"a": add_one, "b": add_one}), None, recorder, Hooks({"a": double})
    )
    assert set(combined) == {"a", "b"}
    assert float(combined["a"](torch.tensor(3.0), "a")) == 8
    assert recorded == [4.0]
    assert len(switching.combined()) == 0


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (("croos", 0, 0), "did you mean 'cross'"),
        (("cross", 0, 4), "no head 4; the heads are 0 to 3"),
    ],
)
def test_a_missing_head_is_refused(translator: Translator, head: tuple, message: str) -> None:
    for build in (switching.switched_off, switching.uniform):
        with pytest.raises(ValueError, match=message):
            build(translator.model.config, [head])
    with pytest.raises(ValueError, match="at least one trace"):
        switching.to_mean(translator.model.config, [("cross", 0, 0)], [])


def test_combined_hooks_are_causal_if_each_is(translator: Translator) -> None:
    config = translator.model.config
    ablation, uniform = (
        switching.switched_off(config, SOME_HEADS),
        switching.uniform(config, SOME_HEADS),
    )
    assert switching.combined(ablation, None, uniform).causal
    assert not switching.combined(ablation, Hooks({**uniform})).causal
