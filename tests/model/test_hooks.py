"""Hooks: every hook point is called once, and a returned tensor affects only that call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from tests.model.small import SRC, TGT, capture, make_model
from transformer.hooks import HookFn, Hooks
from transformer.model import Transformer

ATTENTION = ["query", "key", "value", "scores", "weights", "heads", "output"]


def sites(n_layers: int) -> list[str]:
    """The names the README and the pages use, in the order of Figure 1."""
    names = []
    for side in ("encoder", "decoder"):
        names += [f"{side}.embed.hook_{site}" for site in ("tokens", "positions", "output")]
        for layer in range(n_layers):
            for attention in ("self_attn", "cross_attn")[: 2 if side == "decoder" else 1]:
                path = f"{side}.layers.{layer}.{attention}"
                names += [f"{path}.hook_{site}" for site in ATTENTION]
                names += [f"{path}_norm.hook_sum", f"{path}_norm.hook_output"]
            path = f"{side}.layers.{layer}.ffn"
            names += [f"{path}.hook_hidden", f"{path}.hook_output"]
            names += [f"{path}_norm.hook_sum", f"{path}_norm.hook_output"]
        if side == "encoder":
            names.append("encoder.hook_memory")
    return [*names, "hook_logits"]


def random_values(tensor: Tensor, name: str) -> Tensor:
    return torch.randn_like(tensor)


@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("gradients", [False, True])
def test_every_hook_point_is_called_once_in_order(n_layers: int, gradients: bool) -> None:
    model = make_model(n_layers=n_layers)
    calls: list[str] = []
    recorders = Hooks(dict.fromkeys(sites(n_layers), lambda tensor, name: calls.append(name)))
    with torch.set_grad_enabled(gradients):
        model(SRC, TGT, hooks=recorders)
    assert calls == sites(n_layers)
    assert calls == list(model.hook_names)


@torch.no_grad()
def test_read_only_hooks_and_empty_hooks_change_nothing() -> None:
    model = make_model()
    logits = model(SRC, TGT)
    assert torch.equal(model(SRC, TGT, hooks=Hooks({})), logits)
    torch.testing.assert_close(capture(model, SRC, TGT)["logits"], logits)
    assert torch.equal(model(SRC, TGT), logits)


@torch.no_grad()
def test_a_replaced_tensor_changes_only_that_call() -> None:
    model = make_model()
    plain = capture(model, SRC, TGT)
    for number, name in enumerate(sites(2)):
        captured: dict[str, Tensor] = {}
        hooks: dict[str, Callable[[Tensor, str], Tensor | None]] = {
            site: lambda tensor, site, captured=captured: captured.update({site: tensor})  # type: ignore[misc]
            for site in model.hook_names
        }
        logits = model(SRC, TGT, hooks=Hooks(hooks | {name: random_values}))
        assert (logits - plain["logits"]).abs().max() > 1e-6, name
        for earlier in sites(2)[:number]:
            assert torch.equal(captured[earlier], plain[earlier]), (name, earlier)
    assert torch.equal(capture(model, SRC, TGT)["logits"], plain["logits"])


def test_an_ablated_head_equals_zero_rows_of_w_o() -> None:
    model, name = make_model(), "decoder.layers.1.cross_attn.hook_heads"

    def ablate(heads: Tensor, name: str) -> Tensor:
        return heads * (torch.arange(4) != 2).view(1, 4, 1, 1)

    switched = model(SRC, TGT, hooks=Hooks({name: ablate}))
    with torch.no_grad():
        model.decoder.layers[1].cross_attn.w_o[:, 12:18] = 0
    torch.testing.assert_close(switched, model(SRC, TGT))


def test_forced_weights_select_one_value() -> None:
    """All attention on source position 0: the heads are that position's values."""
    model, path = make_model(), "decoder.layers.0.cross_attn"
    captured: dict[str, Tensor] = {}

    def attend_to_first(weights: Tensor, name: str) -> Tensor:
        return torch.eye(7)[0].to(weights).expand_as(weights)

    recorders = {
        f"{path}.hook_{site}": lambda t, n: captured.update({n: t}) for site in ("value", "heads")
    }
    model(SRC, TGT, hooks=Hooks({f"{path}.hook_weights": attend_to_first, **recorders}))
    value, heads = captured[f"{path}.hook_value"], captured[f"{path}.hook_heads"]
    torch.testing.assert_close(heads, value[:, :, :1].expand_as(heads))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@torch.no_grad()
def test_in_place_hooks_do_not_change_the_model(positions: str) -> None:
    model = make_model(positions=positions)
    before, state = model(SRC, TGT), [t.clone() for t in (*model.parameters(), *model.buffers())]
    model(SRC, TGT, hooks=Hooks(dict.fromkeys(model.hook_names, lambda t, name: t.zero_())))
    assert torch.equal(model(SRC, TGT), before)
    tensors = (*model.parameters(), *model.buffers())
    assert all(torch.equal(a, b) for a, b in zip(tensors, state, strict=True))


def test_gradients_reach_stored_activations() -> None:
    model, name = make_model(), "encoder.layers.0.self_attn.hook_weights"
    captured: list[Tensor] = []

    def store(weights: Tensor, name: str) -> None:
        weights.retain_grad()
        captured.append(weights)

    model(SRC, TGT, hooks=Hooks({name: store})).square().sum().backward()
    assert captured[0].grad is not None
    assert captured[0].grad.abs().max() > 0


def nested_tensor() -> Tensor:
    with torch.device("cpu"):
        return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)], layout=torch.jagged)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (torch.zeros(3, 1, 6, 7), "returned shape (3, 1, 6, 7), the site has (3, 4, 6, 7)"),
        (0.5, "returned a float; it must return nothing, or a tensor of shape (3, 4, 6, 7)"),
        (torch.zeros(3, 4, 6, 7), "returned torch.float32, the site has torch.float64"),
        (torch.full((3, 4, 6, 7), torch.nan).double(), "returned nan; all values must be finite"),
        (torch.zeros(3, 4, 6, 7).double().to("meta"), "returned a meta tensor without values"),
        (torch.zeros(3, 4, 6, 7).double().to_sparse(), "returned a torch.sparse_coo"),
        (
            nested_tensor(),
            "returned a nested tensor; it must be a dense tensor",
        ),
    ],
)
def test_invalid_return_values_of_hooks_are_refused(
    returned: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        jaxtyping.config, "jaxtyping_disable", True
    )  # without the tests' type checker
    name = "decoder.layers.1.cross_attn.hook_weights"
    with pytest.raises(ValueError, match=re.escape(f"the hook on {name} {message}")):
        make_model()(SRC, TGT, hooks=Hooks({name: lambda tensor, name: returned}))


def halve_last(tensor: Tensor, name: str) -> None:
    tensor.set_(tensor.detach()[..., :1].clone())


def make_float32(tensor: Tensor, name: str) -> None:
    tensor.data = tensor.data.float()


@pytest.mark.parametrize("grad", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    ("site", "edit", "message"),
    [
        ("ffn.hook_output", lambda t, n: t.fill_(torch.nan), "left nan; all values must be finite"),
        ("ffn.hook_hidden", lambda t, n: t[..., 0].div_(0), "left (nan|inf|-inf); all"),
        ("self_attn.hook_scores", lambda t, n: t.fill_(torch.inf), "left inf; .*finite or -inf"),
        ("self_attn.hook_weights", lambda t, n: t[:, 0].fill_(-torch.inf), "left -inf; all"),
        ("self_attn.hook_value", make_float32, "dtype .* from torch.float64 to torch.float32"),
        pytest.param(
            "self_attn.hook_value",
            halve_last,
            r"shape of its tensor in place from .*6\]\) to .*1\]\)",
            marks=pytest.mark.real_device,
        ),
    ],
)
def test_invalid_edits_in_place_are_refused(
    site: str, edit: HookFn, message: str, grad: Callable[[], Any]
) -> None:
    def silent(tensor: Tensor, name: str) -> None:
        edit(tensor, name)

    name = f"encoder.layers.1.{site}"
    for function in (silent, {name: silent, f"encoder.layers.?.{site}": lambda t, n: None}):
        hooks = Hooks(function if isinstance(function, dict) else {name: function})
        with grad(), pytest.raises(ValueError, match=f"the hook on {name} .*{message}"):
            make_model()(SRC, TGT, hooks=hooks)


def test_a_reading_hook_is_not_blamed_for_what_the_model_computes() -> None:
    model = make_model()
    with torch.no_grad():
        model.encoder.layers[0].ffn.w_1.weight.fill_(torch.nan)  # type: ignore[union-attr]
    seen: list[bool] = []
    hooks = Hooks({"encoder.layers.*.hook_*": lambda t, name: seen.append(bool(t.isnan().any()))})
    assert model(SRC, TGT, hooks=hooks).isnan().all()
    assert {False, True} == {*seen}


@pytest.mark.parametrize("site", ["encoder.layers.0.self_attn", "decoder.layers.1.cross_attn"])
def test_a_head_without_a_key_has_weights_of_zero(site: str) -> None:
    """The result equals that of setting the weights of the head to zero; the other heads keep
    theirs."""

    def without_keys(scores: Tensor, name: str) -> Tensor:
        return scores.index_fill(1, torch.tensor([2]), -torch.inf)

    def without_weights(weights: Tensor, name: str) -> Tensor:
        return weights.index_fill(1, torch.tensor([2]), 0.0)

    model = make_model()
    logits = model(SRC, TGT, hooks=Hooks({f"{site}.hook_scores": without_keys}))
    expected = model(SRC, TGT, hooks=Hooks({f"{site}.hook_weights": without_weights}))
    assert logits.isfinite().all()
    torch.testing.assert_close(logits, expected)


@pytest.mark.parametrize(("value", "text"), [(torch.nan, "nan"), (torch.inf, "inf")])
def test_scores_and_logits_may_be_minus_infinity_only(value: float, text: str) -> None:
    model = make_model()
    for name in ("encoder.layers.0.self_attn.hook_scores", "hook_logits"):
        hooks = Hooks({name: lambda tensor, name: torch.full_like(tensor, value)})
        with pytest.raises(ValueError, match=f"hook on {name} returned {text}; .*finite or -inf"):
            model(SRC, TGT, hooks=hooks)
    hooks = Hooks({"hook_logits": lambda tensor, name: torch.full_like(tensor, -torch.inf)})
    with pytest.raises(ValueError, match="hook on hook_logits returned -inf for every token"):
        model(SRC, TGT, hooks=hooks)


CALLS: dict[str, Callable[[Transformer, Hooks], object]] = {
    "model": lambda model, hooks: model(SRC, TGT, hooks=hooks),
    "encode": lambda model, hooks: model.encode(SRC, hooks=hooks),
    "decode": lambda model, hooks: model.decode(TGT, torch.zeros(3, 7, 24).double(), hooks=hooks),
    "project": lambda model, hooks: model.project(torch.zeros(3, 6, 24).double(), hooks),
}


@pytest.mark.parametrize("call", CALLS)
def test_unknown_names_are_refused_by_every_call(call: str) -> None:
    with pytest.raises(ValueError, match=r"^the model has no hook 'hook_logit'.*'hook_logits'"):
        CALLS[call](make_model(), Hooks({"hook_logit": random_values}))


def test_encode_calls_only_encoder_hooks() -> None:
    model, calls = make_model(), []
    model.encode(SRC, hooks=Hooks(dict.fromkeys(sites(2), lambda t, name: calls.append(name))))
    assert calls == [name for name in sites(2) if name.startswith("encoder")]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: x,
            r"the hook on a takes \(x\); it is called with two arguments",
        ),
        (lambda x, name, more: x, r"takes \(x, name, more\)"),
        (torch.zeros(2), r"must be a function of the tensor and the name .* not a \w*Tensor"),
    ],
)
def test_functions_with_other_parameters_are_refused(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Hooks({"a": function})


@pytest.mark.parametrize("functions", [None, [1], {3: torch.relu}])
def test_other_values_than_functions_by_names_are_refused(functions: Any) -> None:
    with pytest.raises(TypeError, match="Hooks takes a dictionary of functions by the names"):
        Hooks(functions)
