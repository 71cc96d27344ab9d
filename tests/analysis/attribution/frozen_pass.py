"""A pass in which only residual streams change: what direct effects are compared with."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.analysis.small_models import randomized, trace_logits
from transformer.hooks import HookFn
from transformer.inference.trace import Trace
from transformer.model import Transformer

LOGITS = "logits"


class FrozenPass:
    """In double precision, with the standard deviation of every LayerNorm and the outputs of all
    sublayers as in a pass without changes: hooks replace them by the recorded ones."""

    def __init__(self, model: Transformer, trace: Trace) -> None:
        self.model, self.trace = randomized(model).double(), trace
        names = self.model.hook_names
        self._sums = [n for n in names if n.endswith("_norm.hook_sum")]
        self._outputs = [n for n in names if n.endswith(("attn.hook_output", "ffn.hook_output"))]
        self._clean: dict[str, Tensor] = {}
        hooks = {n: lambda x, n: self._clean.update({n: x}) for n in [*self._sums, *self._outputs]}
        trace_logits(self.model, trace, hooks)

    def slope(self, site: str, head: int, position: int, read: str, step: float = 1e-4) -> Tensor:
        """Return the central difference of the tensor `read`, a hook point or `LOGITS`, with
        respect to a factor of the output of one head at one position."""
        above, below = (self._run(site, head, position, by, read) for by in (step, -step))
        return (above - below) / (2 * step)

    def _run(self, site: str, head: int, position: int, by: float, read: str) -> Tensor:
        current: dict[str, Tensor] = {}

        def scale(x: Tensor, _: str) -> Tensor:
            factors = torch.ones_like(x)
            factors[:, head, position] += by
            return x * factors

        def with_clean_deviation(_: Tensor, name: str) -> Tensor:
            norm = self.model.get_submodule(name.removesuffix(".hook_output")).norm
            name = name.replace("hook_output", "hook_sum")
            deviation = (self._clean[name].var(-1, keepdim=True, correction=0) + norm.eps).sqrt()
            centred = current[name] - current[name].mean(-1, keepdim=True)
            return norm.weight * centred / deviation + norm.bias

        hooks: dict[str, HookFn] = {
            n: lambda x, n: self._clean[n] for n in self._outputs if n != f"{site}.hook_output"
        }
        hooks |= {n.replace("hook_sum", "hook_output"): with_clean_deviation for n in self._sums}
        hooks |= dict.fromkeys(self._sums, lambda x, n: current.update({n: x}))
        hooks[f"{site}.hook_heads"] = scale
        if read != LOGITS:
            hooks[read] = lambda x, n: current.update({n: x})
        logits = trace_logits(self.model, self.trace, hooks)
        return logits if read == LOGITS else current[read][0]
