"""Hooks are an argument of one call, never state of the model.

One cached model serves many browser sessions at once, each on its own thread. A hook kept on the
module would be seen by all of them; a hook passed with the call is seen by that call alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

from torch import Tensor, nn

from transformer.hook_names import matching

HookFn = Callable[[Tensor, str], Tensor | None]


class Hooks(Mapping[str, HookFn]):
    """Functions to call at named sites during one forward pass. `fn(tensor, name)` returns nothing
    to look, or a tensor of the same shape to put in its place.

    A name may be an alias or have wildcards (`hook_names.matching`). Where several of them mean one
    site, their functions run in the order given, each on what the one before it returned."""

    def __init__(self, functions: Mapping[str, HookFn], *, causal: bool = False) -> None:
        """`causal`: what they give for one position of the output depends on no later one, nor on
        whether there is one. Then one pass over an output is what each step of decoding it was,
        and `translate` takes a few passes instead of one a step.

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
        """The same hooks by the model's own names. Raises ValueError for a name that is no site of
        the model, with the near ones."""
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
        hooks = Hooks({n: _chained(each) for n, each in by_site.items()}, causal=self.causal)
        self._resolved = hook_names, hooks
        return hooks


def _chained(functions: Sequence[HookFn]) -> HookFn:
    """One function that runs all of them, each on what the one before it returned."""
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
    """The identity, at a site worth seeing; `name` is its path in the model. PyTorch's
    `register_forward_hook` works on it too, for a notebook with the model to itself."""

    name: str = ""

    def forward(self, x: Tensor, hooks: Hooks | None = None) -> Tensor:
        """Any shape in, the same shape out. Raises ValueError if the hook returns a tensor of
        another shape, or no tensor."""
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
        return replaced

    def is_watched(self, hooks: Hooks | None) -> bool:
        """Whether anyone looks here: a hook of this call, or one of PyTorch's own."""
        torchs = self._forward_hooks or self._forward_pre_hooks
        return bool(torchs) or (hooks is not None and self.name in hooks)


def _check_parameters(function: object, name: str) -> None:
    """Raises TypeError unless `function` can be called with a tensor and a name, as far as that can
    be known of it."""
    if not callable(function):
        raise TypeError(
            f"the hook on {name} must be a function of the tensor and the name of the hook point, "
            f"not a {type(function).__name__}"
        )
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        parameters.bind(None, name)
    except TypeError as error:
        raise TypeError(
            f"the hook on {name} takes {parameters}; it is called with two arguments, the tensor "
            "and the name of the hook point"
        ) from error
