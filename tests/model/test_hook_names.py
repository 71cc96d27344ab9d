"""Names of hook points: wildcards, TransformerLens' names, and errors for wrong ones."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.model.small import SRC, TGT, make_model
from transformer.hooks import HookFn, Hooks, aliases, matching, select

CROSS = "decoder.layers.{}.cross_attn.hook_weights"


def record_in(captured: dict[str, Tensor]) -> HookFn:
    return lambda tensor, name: captured.update({name: tensor})


def test_every_alias_is_a_hook_point() -> None:
    model = make_model()
    alias_names = aliases(model.config.n_layers)
    # 2 embeddings per stack; 6 + 5 aliases per encoder block, and 7 more per decoder block.
    assert len(alias_names) == 2 * 2 + 2 * 11 + 2 * 18
    assert set(alias_names.values()) <= set(model.hook_names)
    assert not set(alias_names) & set(model.hook_names)
    assert "decoder.blocks.2.hook_resid_pre" not in alias_names


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_residual_stream_aliases_are_a_layers_input_and_output(stack: str) -> None:
    """Compared with PyTorch's hooks on the layers, which do not use our names."""
    model = make_model()
    captured: dict[str, Tensor] = {}

    def record_layer(layer: int) -> Any:
        def record(module: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            captured[f"{stack}.blocks.{layer}.hook_resid_pre"] = inputs[0]
            captured[f"{stack}.blocks.{layer}.hook_resid_post"] = output

        return record

    for number, layer in enumerate(getattr(model, stack).layers):
        layer.register_forward_hook(record_layer(number))
    our_tensors: dict[str, Tensor] = {}
    model(SRC, TGT, hooks=Hooks({f"{stack}.blocks.*.hook_resid_p*": record_in(our_tensors)}))
    assert len(captured) == 4
    for alias, tensor in captured.items():
        assert torch.equal(our_tensors[aliases(2)[alias]], tensor)


def test_attention_aliases_have_transformer_lens_meanings() -> None:
    """z = pattern · v; the pattern is the softmax of the scores over the unmasked keys."""
    captured: dict[str, Tensor] = {}
    model = make_model()
    model(SRC, TGT, hooks=Hooks({"decoder.blocks.1.*": record_in(captured)}))
    for part in ("attn", "cross_attn"):
        q, k, v, scores, pattern, z = (
            captured[aliases(2)[f"decoder.blocks.1.{part}.hook_{name}"]]
            for name in ("q", "k", "v", "attn_scores", "pattern", "z")
        )
        assert torch.allclose(scores, q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5)
        assert torch.allclose(z, pattern @ v)
        assert torch.allclose(pattern.sum(-1), torch.ones(()).double())


def test_wildcards_match_all_layers_and_dots() -> None:
    names = make_model().hook_names
    assert matching(CROSS.format("*"), names) == [CROSS.format(0), CROSS.format(1)]
    assert matching("decoder.blocks.*.cross_attn.hook_pattern", names) == matching(
        CROSS.format("[0-9]"), names
    )
    assert len(matching("*.hook_weights", names)) == len(matching("*.hook_pattern", names)) == 6
    assert matching("*", names) == list(names)


def test_a_negative_layer_counts_from_the_last() -> None:
    names = make_model().hook_names
    assert matching(CROSS.format(-1), names) == [CROSS.format(1)]
    assert matching("decoder.blocks.-2.cross_attn.hook_pattern", names) == [CROSS.format(0)]
    assert matching("encoder.layers.-1.*", names) == matching("encoder.layers.1.*", names)
    with pytest.raises(ValueError, match=r"no hook 'decoder\.layers\.-3\."):
        matching(CROSS.format(-3), names)


def test_filters_are_names_lists_or_functions() -> None:
    names = make_model().hook_names
    assert select(None, names) == names
    assert select("hook_logits", names) == ("hook_logits",)
    assert select(["hook_logits", CROSS.format("?"), "hook_logits"], names) == (
        "hook_logits", CROSS.format(0), CROSS.format(1),
    )  # fmt: skip
    by_alias = select(lambda name: name.endswith("cross_attn.hook_pattern"), names)
    by_name = select(lambda name: name.endswith("cross_attn.hook_weights"), names)
    assert by_alias == by_name == (CROSS.format(0), CROSS.format(1))
    with pytest.raises(ValueError, match=r"accepts no hook point; model\.hook_names lists"):
        select(lambda name: False, names)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("decoder.layers.*.cross_attn.hook_weight", f"did you mean '{CROSS.format('*')}'"),
        ("decoder.blocks.*.cross_attn.hook_patern", "'decoder.blocks.*.cross_attn.hook_pattern'"),
        ("*.none", "model.hook_names lists them all"),
    ],
)
def test_unknown_names_are_refused_with_similar_ones(pattern: str, hint: str) -> None:
    model = make_model()
    message = rf"^the model has no hook {re.escape(repr(pattern))}.*{re.escape(hint)}"
    with pytest.raises(ValueError, match=message):
        model(SRC, TGT, hooks=Hooks({pattern: lambda tensor, name: None}))


def test_hooks_of_one_hook_point_run_in_order() -> None:
    model, calls = make_model(), []
    cross = "decoder.layers.*.cross_attn.hook_heads"

    def double(tensor: Tensor, name: str) -> Tensor:
        return tensor * 2

    def record_call(tensor: Tensor, name: str) -> None:
        calls.append((name, tensor.clone()))

    heads: dict[str, Tensor] = {}
    model(SRC, TGT, hooks=Hooks({cross.replace("*", "0"): record_in(heads)}))
    hooks = Hooks(
        {cross: double, cross.replace("*", "0"): record_call, "*.cross_attn.hook_z": double}
    )
    output = model(SRC, TGT, hooks=hooks)
    assert [name for name, _ in calls] == [cross.replace("*", "0")]
    assert torch.equal(calls[0][1], 2 * heads[cross.replace("*", "0")])
    single_hooks = Hooks({cross.replace("*", str(n)): lambda x, name: x * 4 for n in range(2)})
    assert torch.equal(output, model(SRC, TGT, hooks=single_hooks))
