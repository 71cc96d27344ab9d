"""Hooks, passed as an argument of one forward pass; never state of the model.

One cached model serves many browser sessions at once, each on its own thread. A hook registered on
the module would affect all of them; a hook passed with a call affects only that call.

A hook point's name is its path in the model. Wildcards and TransformerLens' names are accepted too:
`encoder.blocks.0.attn.hook_pattern` is another name of `encoder.layers.0.self_attn.hook_weights`.
`docs/python.md` has the whole table.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import did_you_mean

HookFn = Callable[[Tensor, str], Tensor | None]


class ReadOnly:
    """A hook that only reads. Its tensor is not checked afterwards, which would slow each call."""

    def __init__(self, function: Callable[[Tensor, str], None]) -> None:
        self.function = function

    def __call__(self, tensor: Tensor, name: str) -> None:
        self.function(tensor, name)


class Hooks(Mapping[str, HookFn]):
    """Functions to call at named hook points during one forward pass. `fn(tensor, name)` returns
    None to read the tensor or after changing it in place, or a tensor of the same shape to replace
    it.

    A name may be an alias or have wildcards (`matching`). If several match one hook
    point, their functions run in the given order, each on the result of the one before."""

    def __init__(self, functions: Mapping[str, HookFn], *, causal: bool = False) -> None:
        """`causal`: the result at an output position does not depend on later positions or the
        length. Then one pass over an output equals all of its decoding steps, and `translate` keeps
        the keys and values of earlier tokens instead of running the whole decoder at every step.

        Raises TypeError for anything but functions of a tensor and a name, by names."""
        argument: Any = functions
        if not (isinstance(argument, Mapping) and all(isinstance(name, str) for name in argument)):
            raise TypeError(
                "Hooks takes a dictionary of functions by the names of hook points, not "
                f"{functions!r:.100}"
            )
        self._functions, self.causal = dict(functions), causal
        self._resolved: tuple[Sequence[str], Hooks] | None = None  # for the model of the last call
        for function, name in {id(f): (f, n) for n, f in self._functions.items()}.values():
            _check_parameters(function, name)

    def __getitem__(self, name: str) -> HookFn:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def resolved(self, hook_names: Sequence[str]) -> Hooks:
        """Return the same hooks by the model's own names. Raises ValueError for a name that is not
        a hook point of the model, with similar names."""
        if self._functions.keys() <= set(hook_names):
            return self
        if (
            self._resolved is not None and self._resolved[0] is hook_names
        ):  # at every step of decoding
            return self._resolved[1]
        by_site: dict[str, list[HookFn]] = {}
        for pattern, function in self._functions.items():
            for name in matching(pattern, hook_names):
                by_site.setdefault(name, []).append(function)
        hooks = Hooks(
            {n: _chained(functions) for n, functions in by_site.items()}, causal=self.causal
        )
        self._resolved = hook_names, hooks
        return hooks


def _chained(functions: Sequence[HookFn]) -> HookFn:
    """Return a function that runs all of these, each on the result of the one before."""
    if len(functions) == 1:
        return functions[0]

    def chain(tensor: Tensor, name: str) -> Tensor | None:
        result = None
        for function in functions:
            replaced = function(tensor if result is None else result, name)
            result = result if replaced is None else replaced
        return result

    return chain


class HookPoint(nn.Module):
    """The identity at a tensor that hooks can read; `name` is its path in the model. PyTorch's
    `register_forward_hook` works on it too, in a notebook that does not share the model."""

    name: str = ""

    def forward(self, x: Tensor, hooks: Hooks | None = None) -> Tensor:
        """Return `x` or its replacement, which may come from another device: the tensors of
        `run_with_cache` are on the CPU. Raises ValueError if the hook returns anything but a tensor
        of the same shape and dtype with finite values, or leaves `x` without them; -∞ is allowed in
        scores and logits, where it excludes a key or a token."""
        if hooks is None or self.name not in hooks:
            return x
        function = hooks[self.name]
        if isinstance(function, ReadOnly):
            function(x, self.name)
            return x
        before = x.detach().clone()
        replaced = function(x, self.name)
        if replaced is None:
            self._check_in_place(x, before)
            return x
        if not isinstance(replaced, Tensor):
            raise ValueError(
                f"the hook on {self.name} returned a {type(replaced).__name__}; "
                f"it must return nothing, or a tensor of shape {tuple(x.shape)}"
            )
        if replaced.is_nested or replaced.layout != torch.strided or replaced.is_meta:
            kind = "meta tensor without values" if replaced.is_meta else str(replaced.layout)
            kind = "nested tensor" if replaced.is_nested else kind
            raise ValueError(
                f"the hook on {self.name} returned a {kind}; it must be a dense tensor with values"
            )
        if replaced.shape != x.shape:
            raise ValueError(
                f"the hook on {self.name} returned shape {tuple(replaced.shape)}, "
                f"the site has {tuple(x.shape)}"
            )
        if replaced.dtype != x.dtype:
            raise ValueError(
                f"the hook on {self.name} returned {replaced.dtype}, the site has {x.dtype}"
            )
        replaced = replaced.to(x.device)
        if problem := self._problem(replaced):
            raise ValueError(f"the hook on {self.name} returned {problem}")
        return replaced

    def _check_in_place(self, after: Tensor, before: Tensor) -> None:
        """Raise ValueError for what a hook that returned None left in its tensor, except values
        that the model itself had computed."""
        for name in ("shape", "dtype"):
            old, new = getattr(before, name), getattr(after, name)
            if new != old:
                raise ValueError(
                    f"the hook on {self.name} changed the {name} of its tensor in place from "
                    f"{old} to {new}; it must keep the {name}"
                )
        if (problem := self._problem(after)) and not self._problem(before):
            raise ValueError(f"the hook on {self.name} left {problem}")

    def _problem(self, tensor: Tensor) -> str:
        """Return which value of the tensor is not allowed, and which values are; "" if all are."""
        allows_exclusion = self.name.endswith(("hook_scores", "hook_logits"))
        valid = tensor.isfinite()
        if allows_exclusion:
            valid |= tensor.isneginf()
        if not valid.all():
            allowed = "finite or -inf" if allows_exclusion else "finite"
            return f"{float(tensor.detach()[~valid][0])}; all values must be {allowed}"
        if self.name.endswith("hook_logits") and tensor.isneginf().all(dim=-1).any():
            return "-inf for every token of a position; at least one logit must be finite"
        return ""

    def is_watched(self, hooks: Hooks | None) -> bool:
        """Whether there is a hook here: one of this call, or one registered with PyTorch."""
        torchs = self._forward_hooks or self._forward_pre_hooks
        return bool(torchs) or (hooks is not None and self.name in hooks)


def _check_parameters(function: object, name: str) -> None:
    """Raise TypeError unless `function` can be called with a tensor and a name, if its signature is
    known."""
    if not callable(function):
        raise TypeError(
            f"the hook on {name} must be a function of the tensor and the name of the hook point, "
            f"not a {type(function).__name__}"
        )
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        parameters.bind(None, name)
    except TypeError as error:
        raise TypeError(
            f"the hook on {name} takes {parameters}; it is called with two arguments, the tensor "
            "and the name of the hook point"
        ) from error


NamesFilter = str | Iterable[str] | Callable[[str], bool] | None
"""Which hook points: one name or pattern, several, a test of a name, or None for all."""

_ATTENTION = {
    "hook_q": "hook_query",
    "hook_k": "hook_key",
    "hook_v": "hook_value",
    "hook_attn_scores": "hook_scores",
    "hook_pattern": "hook_weights",
    "hook_z": "hook_heads",
}
_BLOCK = {
    **{
        f"attn.{lens_name}": f"self_attn.{hook_name}" for lens_name, hook_name in _ATTENTION.items()
    },
    "hook_attn_out": "self_attn.hook_output",
    "mlp.hook_post": "ffn.hook_hidden",
    "hook_mlp_out": "ffn.hook_output",
    "hook_resid_post": "ffn_norm.hook_output",
}
_DECODER_BLOCK = {
    **_BLOCK,
    **{
        f"cross_attn.{lens_name}": f"cross_attn.{hook_name}"
        for lens_name, hook_name in _ATTENTION.items()
    },
    "hook_cross_attn_out": "cross_attn.hook_output",
}
_EMBED = {"hook_embed": "embed.hook_tokens", "hook_pos_embed": "embed.hook_positions"}


@cache
def aliases(n_layers: int) -> Mapping[str, str]:
    """Return TransformerLens' names for a model of this depth, each with its hook point name.

    `hook_resid_mid` is missing: for post-norm models, TransformerLens uses it for different tensors
    in its encoder-decoder classes and in its BERT class.
    """
    names: dict[str, str] = {}
    for stack, block in (("encoder", _BLOCK), ("decoder", _DECODER_BLOCK)):
        names |= {
            f"{stack}.{lens_name}": f"{stack}.{hook_name}"
            for lens_name, hook_name in _EMBED.items()
        }
        stream = f"{stack}.embed.hook_output"
        for layer in range(n_layers):
            path = f"{stack}.blocks.{layer}."
            names[f"{path}hook_resid_pre"] = stream
            stream = f"{stack}.layers.{layer}.ffn_norm.hook_output"
            names |= {
                path + lens_name: f"{stack}.layers.{layer}.{hook_name}"
                for lens_name, hook_name in block.items()
            }
    return MappingProxyType(names)


def from_first_layer(name: str, n_layers: int) -> str:
    """Return a name or pattern with its negative layer counted from the first one.

    `decoder.layers.-1` is the last layer. A number beyond the first layer is not replaced."""

    def replaced(match: re.Match[str]) -> str:
        layer = n_layers - int(match[2])
        return f"{match[1]}{layer}" if layer >= 0 else match[0]

    return re.sub(r"(\b(?:layers|blocks)\.)-(\d+)\b", replaced, name)


def canonical(name: str, n_layers: int) -> str:
    """Return the hook point's name in this package, from that name or an alias.

    Either may have a negative layer."""
    name = from_first_layer(name, n_layers)
    return aliases(n_layers).get(name, name)


def matching(pattern: str, hook_names: Sequence[str]) -> list[str]:
    """Return the hook points that match a name or pattern, in the order of `hook_names`.

    Args:
        pattern: a hook point's name or an alias; `*`, `?` and `[…]` match as in `fnmatch`, and `*`
            matches dots as well. A negative layer counts from the last (`from_first_layer`).
        hook_names: all hook points of the model.

    Raises:
        ValueError: if no hook point matches; the message has similar names.
    """
    if pattern in hook_names:
        return [pattern]
    alias_names = aliases(_depth(hook_names))
    pattern = from_first_layer(pattern, _depth(hook_names))
    if pattern in alias_names and alias_names[pattern] in hook_names:
        return [alias_names[pattern]]
    matches = {name for name in hook_names if name == pattern or fnmatchcase(name, pattern)}
    matches |= {
        hook_name for alias, hook_name in alias_names.items() if fnmatchcase(alias, pattern)
    }
    matched = [name for name in hook_names if name in matches]
    if not matched:
        raise ValueError(
            f"the model has no hook {pattern!r}{_hint(pattern, hook_names, alias_names)}"
        )
    return matched


def select(names_filter: NamesFilter, hook_names: Sequence[str]) -> tuple[str, ...]:
    """Return the hook points that a filter accepts: those of a list in its order, else in that of
    `hook_names`. A function is called with the name and every alias; one True is enough.

    Raises:
        ValueError: for a name or pattern that matches nothing, or a function that accepts nothing.
        TypeError: for a filter of another type.
    """
    if names_filter is None:
        return tuple(hook_names)
    if not callable(names_filter):
        if not isinstance(names_filter, Iterable):
            raise TypeError(
                f"a filter is a name, names or a function of a name, not {names_filter!r}"
            )
        patterns = [names_filter] if isinstance(names_filter, str) else names_filter
        return tuple(
            dict.fromkeys(name for pattern in patterns for name in matching(pattern, hook_names))
        )
    accepted = {name for name in hook_names if names_filter(name)}
    accepted |= {
        hook_name for alias, hook_name in aliases(_depth(hook_names)).items() if names_filter(alias)
    }
    if not accepted:
        raise ValueError("the filter accepts no hook point; model.hook_names lists them all")
    return tuple(name for name in hook_names if name in accepted)


def _depth(hook_names: Iterable[str]) -> int:
    layers = (re.search(r"\.layers\.(\d+)\.", name) for name in hook_names)
    return max((int(match[1]) + 1 for match in layers if match), default=0)


def _hint(pattern: str, hook_names: Sequence[str], alias_names: Mapping[str, str]) -> str:
    """Return similar names, or where all names are listed."""
    names = list(alias_names) if ".blocks." in pattern else list(hook_names)
    if re.search(r"[*?[]", pattern):
        names = list(dict.fromkeys(re.sub(r"\.\d+\.", ".*.", name) for name in names))
    return did_you_mean(pattern, names) or "; model.hook_names lists them all"


_STACKS = {"encoder": "src", "decoder": "tgt"}


def hook_axes(name: str) -> tuple[str, ...]:
    """Return the dimensions of one sentence's tensor at a hook point, without the batch.

    "head", "src" and "tgt" (positions), "src_key" and "tgt_key" (positions as keys of
    self-attention), "d_k", "d_ff", "d_model" and "vocab":

        hook_axes("decoder.layers.0.cross_attn.hook_weights")  # ("head", "tgt", "src")

    Args:
        name: one of `model.hook_names`; aliases are not known here.

    Raises:
        ValueError: for a name that does not begin with a stack and is not "hook_logits".
    """
    if name == "hook_logits":
        return "tgt", "vocab"
    stack, _, path = name.partition(".")
    if stack not in _STACKS:
        raise ValueError(f"hook points begin with encoder., decoder. or hook_logits, not {name!r}")
    query = _STACKS[stack]
    module, _, site = path.rpartition(".")
    if module.endswith("_attn"):
        # The keys of cross-attention are the source's positions.
        key, key_axis = ("src", "src") if module.endswith("cross_attn") else (query, f"{query}_key")
        attention: dict[str, tuple[str, ...]] = {
            "hook_query": ("head", query, "d_k"),
            "hook_key": ("head", key, "d_k"),
            "hook_value": ("head", key, "d_k"),
            "hook_scores": ("head", query, key_axis),
            "hook_weights": ("head", query, key_axis),
            "hook_heads": ("head", query, "d_k"),
        }
        if site in attention:
            return attention[site]
    return query, "d_ff" if site == "hook_hidden" else "d_model"
