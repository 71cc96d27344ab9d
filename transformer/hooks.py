"""Hooks, passed as an argument of one forward pass; never state of the model.

One cached model serves many browser sessions at once, each on its own thread. A hook registered on
the module would affect all of them; a hook passed with a call affects only that call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

from torch import Tensor, nn

from transformer.hook_names import matching

HookFn = Callable[[Tensor, str], Tensor | None]


class Hooks(Mapping[str, HookFn]):
    """Functions to call at named hook points during one forward pass. `fn(tensor, name)` returns
    None to read the tensor, or a tensor of the same shape to replace it.

    A name may be an alias or have wildcards (`hook_names.matching`). If several match one hook
    point, their functions run in the given order, each on the result of the one before."""

    def __init__(self, functions: Mapping[str, HookFn], *, causal: bool = False) -> None:
        """`causal`: the result at an output position does not depend on later positions or the
        length. Then one pass over an output equals all of its decoding steps, and `translate` keeps
        the keys and values of earlier tokens instead of running the whole decoder at every step.

        Raises TypeError for a function that cannot be called with a tensor and a name."""
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
        of the same shape and dtype with finite values; -∞ is allowed in scores and logits, where it
        excludes a key or a token."""
        if hooks is None or self.name not in hooks:
            return x
        replaced = hooks[self.name](x, self.name)
        if replaced is None:
            return x
        if not isinstance(replaced, Tensor):
            raise ValueError(
                f"the hook on {self.name} returned a {type(replaced).__name__}; "
                f"it must return nothing, or a tensor of shape {tuple(x.shape)}"
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
        self._check_values(replaced)
        return replaced

    def _check_values(self, replaced: Tensor) -> None:
        allows_exclusion = self.name.endswith(("hook_scores", "hook_logits"))
        valid = replaced.isfinite()
        if allows_exclusion:
            valid |= replaced.isneginf()
        if not valid.all():
            value = float(replaced[~valid][0])
            allowed = "finite or -inf" if allows_exclusion else "finite"
            raise ValueError(
                f"the hook on {self.name} returned {value}; all values must be {allowed}"
            )
        if self.name.endswith("hook_logits") and replaced.isneginf().all(dim=-1).any():
            raise ValueError(
                f"the hook on {self.name} returned -inf for every token of a position; at least "
                "one logit must be finite"
            )

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
