"""Traces of a batch equal those of single sentences; names of dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer import Hooks, Translator
from transformer.hooks import hook_axes
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXTS = ["She paints books.", "The baker hides a boat at night.", "She.", "My aunt finds the lamp."]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_each_trace_equals_that_of_its_sentence(
    tiny_model: Transformer, vocabulary: Vocabulary, positions: str
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(2)
        config = replace(tiny_model.config, positions=positions)
        translator = Translator(Transformer(config).eval().requires_grad_(False), vocabulary)
    batch = translator.trace_batch(TEXTS, max_len=9)
    assert [trace.source for trace in batch] == TEXTS
    for text, trace in zip(TEXTS, batch, strict=True):
        alone = translator.trace(text, trace.predicted_ids)
        assert trace.names == alone.names
        for field in ("src_tokens", "tgt_tokens", "predicted_tokens", "src_ids", "tgt_ids"):
            assert getattr(trace, field) == getattr(alone, field)
        for name in trace:
            np.testing.assert_allclose(trace[name], alone[name], atol=2e-5, err_msg=name)
            # The trace must not keep the tensors of the whole batch in memory.
            storage = trace.tensors[name].untyped_storage()
            assert storage.nbytes() == trace[name].nbytes


def test_targets_hooks_and_names_work_as_in_trace(translator: Translator) -> None:
    names = "decoder.layers.*.cross_attn.hook_weights"
    zero = Hooks({"decoder.layers.0.cross_attn.hook_heads": lambda heads, name: heads * 0})
    targets = ["Elle peint des livres.", "Le boulanger."]
    batch = translator.trace_batch(TEXTS[:2], targets=targets, hooks=zero, names=names)
    for text, target, trace in zip(TEXTS, targets, batch, strict=False):
        alone = translator.trace(text, target, hooks=zero, names=names)
        assert trace.text == target
        assert trace.names == alone.names
        np.testing.assert_allclose(trace.weights("cross", 1), alone.weights("cross", 1), atol=1e-5)
    with pytest.raises(ValueError, match="there are 2 texts and 1 targets"):
        translator.trace_batch(TEXTS[:2], targets=targets[:1])
    assert translator.trace_batch([]) == []


def test_a_trace_takes_one_pass_through_encoder_and_decoder(translator: Translator) -> None:
    """Hooks are called once, in the order of the model."""
    calls: list[str] = []
    sites = ["encoder.layers.0.self_attn.hook_weights", "hook_logits"]
    hooks = Hooks(dict.fromkeys(sites, lambda tensor, name: calls.append(name)))
    target = "Elle peint des livres."
    translator.trace(TEXTS[0], target, hooks=hooks)
    assert calls == sites
    calls.clear()
    translator.trace_batch(TEXTS, targets=[target] * 4, hooks=hooks)
    assert calls == sites


def test_a_batch_of_forced_outputs_has_the_translations_of_single_ones(
    translator: Translator,
) -> None:
    targets = ["Elle peint des livres.", "Le boulanger.", "Elle.", "Ma tante."]
    batch = translator.trace_batch(TEXTS, targets=targets, candidates=3)
    for text, target, trace in zip(TEXTS, targets, batch, strict=True):
        alone = translator.translate(text, target=target, candidates=3)
        assert trace.translation.method == alone.method == "forced"
        assert trace.translation.ids == alone.ids
        assert trace.translation.log_probability == pytest.approx(alone.log_probability, abs=1e-4)
        for step, step_alone in zip(trace.translation.steps, alone.steps, strict=True):
            assert [c.token for c in step.candidates] == [c.token for c in step_alone.candidates]
    with pytest.raises(TypeError, match="takes a list of texts"):
        translator.trace_batch("She.", targets=["Elle."])


def test_the_dimensions_of_every_hook_point_are_known(translator: Translator) -> None:
    trace = translator.trace(TEXTS[1], "Elle peint.")
    config = translator.model.config
    sizes = {
        "head": config.n_heads,
        "src": len(trace.src_tokens),
        "src_key": len(trace.src_tokens),
        "tgt": len(trace.tgt_tokens),
        "tgt_key": len(trace.tgt_tokens),
        "d_k": config.d_model // config.n_heads,
        "d_ff": config.d_ff,
        "d_model": config.d_model,
        "vocab": config.vocab_size,
    }
    assert len({sizes[axis] for axis in ("head", "src", "tgt", "d_k", "d_ff", "d_model")}) == 6
    assert trace.names == translator.model.hook_names
    for name in trace:
        assert tuple(sizes[axis] for axis in hook_axes(name)) == trace[name].shape, name
    with pytest.raises(ValueError, match="hook points begin with"):
        hook_axes("memory")
