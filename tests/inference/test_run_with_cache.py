"""`run_with_cache` equals a trace, and a forward pass with PyTorch's own hooks."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import Tensor

from transformer.hooks import HookPoint
from transformer.inference.translator import Translator

SRC, TGT = "The baker sells the lamp again.", "Le boulanger vend la lampe."
CROSS = "decoder.layers.*.cross_attn.hook_weights"


def test_the_cache_equals_the_trace(translator: Translator) -> None:
    logits, cache = translator.run_with_cache(SRC, TGT)
    trace = translator.trace(SRC, TGT)
    assert tuple(cache) == translator.model.hook_names == trace.names
    for name in cache:
        np.testing.assert_array_equal(cache[name][0].numpy(), trace[name], err_msg=name)
    np.testing.assert_array_equal(logits[0].cpu().numpy(), trace["hook_logits"])
    assert (cache.src_lengths, cache.tgt_lengths) == (
        (len(trace.src_ids),),
        (len(trace.predicted_ids),),
    )
    logits_from_ids, _ = translator.run_with_cache(SRC, trace.predicted_ids)
    assert torch.equal(logits_from_ids, logits)


def test_the_cache_equals_pytorch_forward_hooks(translator: Translator) -> None:
    model, trace = translator.model, translator.trace(SRC, TGT)
    recorded: dict[str, Tensor] = {}
    handles = [
        point.register_forward_hook(
            lambda module, inputs, output, name=name: recorded.update(
                {name: output.detach().cpu().clone()}
            )
        )
        for name, point in model.named_modules()
        if isinstance(point, HookPoint)
    ]
    try:
        with torch.no_grad():
            expected_logits = model(torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids]))
    finally:
        for handle in handles:
            handle.remove()
    logits, cache = translator.run_with_cache(SRC, TGT)
    torch.testing.assert_close(logits, expected_logits, rtol=0, atol=1e-5)
    assert recorded.keys() == cache.keys()
    for name in cache:
        torch.testing.assert_close(cache[name], recorded[name], rtol=0, atol=1e-5)


def test_a_batch_equals_single_sentences(translator: Translator) -> None:
    texts, targets = [SRC, "She finds bread."], [TGT, "Elle trouve du pain."]
    logits, cache = translator.run_with_cache(texts, targets, names_filter=[CROSS, "*.hook_memory"])
    assert len(cache) == 3
    for row, (src, tgt) in enumerate(zip(texts, targets, strict=True)):
        single_logits, single_cache = translator.run_with_cache(src, tgt)
        n, m = cache.src_lengths[row], cache.tgt_lengths[row]
        torch.testing.assert_close(logits[row, :m], single_logits[0], rtol=0, atol=1e-4)
        weights = cache["decoder.layers.1.cross_attn.hook_weights"][row]
        single_weights = single_cache["decoder.layers.1.cross_attn.hook_weights"][0]
        torch.testing.assert_close(weights[:, :m, :n], single_weights, rtol=0, atol=1e-4)
        assert (weights[:, :, n:] == 0).all()


def test_transformer_lens_names_are_aliases(translator: Translator) -> None:
    _, cache = translator.run_with_cache(SRC, TGT, names_filter=lambda n: n.endswith("pattern"))
    trace = translator.trace(SRC, TGT, names=["*.hook_pattern", "hook_logits"])
    assert len(cache) == 6
    assert len(trace) == 7
    for tensors in (cache, trace):
        for alias, name in (
            ("encoder.blocks.0.attn.hook_pattern", "encoder.layers.0.self_attn.hook_weights"),
            ("decoder.blocks.1.attn.hook_pattern", "decoder.layers.1.self_attn.hook_weights"),
            ("decoder.blocks.1.cross_attn.hook_pattern", CROSS.replace("*", "1")),
            (CROSS.replace("*", "-1"), CROSS.replace("*", "1")),
            ("encoder.blocks.-2.attn.hook_pattern", "encoder.layers.0.self_attn.hook_weights"),
        ):
            assert alias in tensors
            assert (tensors[alias] == tensors[name]).all()
        assert "decoder.blocks.1.hook_resid_pre" not in tensors
        assert CROSS.replace("*", "-3") not in tensors
        with pytest.raises(KeyError, match=r"decoder\.blocks\.1\.attn\.hook_q"):
            tensors["decoder.blocks.1.attn.hook_q"]


def test_errors_are_one_sentence(translator: Translator) -> None:
    for src, tgt, expected_message in (
        ([SRC], [TGT, TGT], "there are 1 texts and 2 targets"),
        ("  ", TGT, "There is no text to translate"),
        (SRC, "", "There is no translation to force"),
    ):
        with pytest.raises(ValueError, match=re.escape(expected_message)):
            translator.run_with_cache(src, tgt)
    with pytest.raises(ValueError, match=r"has no hook 'hook_logit'; did you mean 'hook_logits'"):
        translator.run_with_cache(SRC, TGT, names_filter=["hook_logit"])
