"""Heads switched off, made uniform or scaled: interventions as `Hooks`, for one call.

    off = switched_off(config, [("cross", 5, 0)])
    translator.translate("I am a student.", hooks=off)
    translator.trace("I am a student.", hooks=combined(off, uniform(config, [("encoder", 0, 3)])))

A head is (kind, layer, head), counted from 0. `patches` changes single rows, cells and tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.hooks import HookFn, Hooks
from transformer.inference.trace import WEIGHTS, Trace
from transformer.measures.head_codes import parse_heads
from transformer.measures.kinds import KINDS, AttentionKind, Head, checked_kind


def site(kind: AttentionKind, layer: int, point: str) -> str:
    """Return the name of a hook of one attention: `site("cross", 5, "heads")`."""
    return WEIGHTS[kind].format(layer).removesuffix("weights") + point


def all_heads(config: ModelConfig, kinds: Iterable[AttentionKind] = KINDS) -> list[Head]:
    """Return every head of these kinds, from the lowest layer up."""
    return [
        (kind, layer, head)
        for kind in kinds
        for layer in range(config.n_layers)
        for head in range(config.n_heads)
    ]


def check_heads(config: ModelConfig, heads: Iterable[Head]) -> list[Head]:
    """Return `heads` as a list without duplicates.

    Raises:
        ValueError: for a head that the model does not have.
    """
    checked = list(dict.fromkeys(heads))
    for kind, layer, head in checked:
        checked_kind(kind)
        if not 0 <= layer < config.n_layers:
            raise ValueError(
                f"there is no layer {layer}; the layers are 0 to {config.n_layers - 1}"
            )
        if not 0 <= head < config.n_heads:
            raise ValueError(f"there is no head {head}; the heads are 0 to {config.n_heads - 1}")
    return checked


def named_heads(config: ModelConfig, written: str) -> list[Head]:
    """Parse heads written as "e3.2,c5"; see `parse_heads`.

    Raises:
        ValueError: for another format, and for heads that the model does not have.
    """
    try:
        heads, missing = parse_heads(written, config.n_layers, config.n_heads)
    except (ValueError, KeyError) as error:
        raise ValueError(f'heads are written as "e3.2,c5", not {written[:40]!r}') from error
    if missing:
        raise ValueError(f"the model has no head {', '.join(missing)}")
    return heads


def combined(*several: Hooks | None) -> Hooks:
    """Combine several hooks; those of a common site run in the given order."""
    chains: dict[str, list[HookFn]] = {}
    for hooks in several:
        for name, function in (hooks or {}).items():
            chains.setdefault(name, []).append(function)
    causal = all(hooks.causal for hooks in several if hooks)
    return Hooks({name: _chain(functions) for name, functions in chains.items()}, causal=causal)


def _chain(functions: list[HookFn]) -> HookFn:
    def chained(x: Tensor, name: str) -> Tensor:
        for function in functions:
            replaced = function(x, name)
            x = x if replaced is None else replaced
        return x

    return functions[0] if len(functions) == 1 else chained


def gated(config: ModelConfig, gates: Mapping[Head, float]) -> Hooks:
    """Multiply each head's output by its gate ξ (Michel et al. 2019, section 2.3).

    A gate of 0 switches a head off; a gate of 1 leaves it bit-identical. Raises ValueError for a
    head that the model does not have.
    """
    check_heads(config, gates)
    functions: dict[str, HookFn] = {}
    for kind, layer, numbers in _by_attention(config, gates):
        factors = torch.ones(config.n_heads, 1, 1, dtype=torch.float64, device="cpu")
        for head in numbers:
            factors[head] = float(gates[kind, layer, head])

        def scale(outputs: Tensor, _: str, factors: Tensor = factors) -> Tensor:
            return outputs * factors.to(outputs.dtype).to(outputs.device)

        functions[site(kind, layer, "heads")] = scale
    return Hooks(functions, causal=True)


def switched_off(config: ModelConfig, heads: Iterable[Head]) -> Hooks:
    """Switch heads off: their outputs are 0 where W^O reads them.

    Raises:
        ValueError: for a head that the model does not have.
    """
    return gated(config, dict.fromkeys(heads, 0.0))


def uniform(config: ModelConfig, heads: Iterable[Head]) -> Hooks:
    """Make heads attend equally to every key that the mask allows.

    All their scores become 0; masked scores stay −∞. Raises ValueError for a head that the model
    does not have.
    """
    functions: dict[str, HookFn] = {}
    for kind, layer, numbers in _by_attention(config, heads):

        def zero_scores(scores: Tensor, _: str, numbers: list[int] = numbers) -> Tensor:
            changed = scores.clone()
            changed[:, numbers] = scores[:, numbers].masked_fill(scores[:, numbers] > -torch.inf, 0)
            return changed

        functions[site(kind, layer, "scores")] = zero_scores
    return Hooks(functions, causal=True)


def to_mean(config: ModelConfig, heads: Iterable[Head], traces: Iterable[Trace]) -> Hooks:
    """Replace the output of heads, at every position, by their mean output over `traces`.

    This removes the part of a head's output that depends on the position and keeps the constant
    part, which later layers have learned to expect; switching off removes both. The mean is over
    all positions of all traces, so it is one vector per head and no information about later tokens.
    Raises ValueError for a head that the model does not have, no trace, or traces without the
    outputs.
    """
    recorded = list(traces)
    if not recorded:
        raise ValueError("the mean needs at least one trace")
    functions: dict[str, HookFn] = {}
    for kind, layer, numbers in _by_attention(config, heads):
        name = site(kind, layer, "heads")
        for trace in recorded:
            if name not in trace:
                raise ValueError(f"a trace was recorded without {name}")
        outputs = torch.cat([torch.tensor(trace[name][numbers]) for trace in recorded], dim=1)
        mean = outputs.mean(dim=1, keepdim=True)  # (heads, 1, d_k)

        def put(x: Tensor, _: str, numbers: list[int] = numbers, mean: Tensor = mean) -> Tensor:
            changed = x.clone()
            changed[:, numbers] = mean.to(x)
            return changed

        functions[name] = put
    return Hooks(functions, causal=True)


def _by_attention(
    config: ModelConfig, heads: Iterable[Head]
) -> Iterator[tuple[AttentionKind, int, list[int]]]:
    """Group heads by attention: yield kind, layer and the numbers of its heads."""
    groups: dict[tuple[AttentionKind, int], list[int]] = {}
    for kind, layer, head in check_heads(config, heads):
        groups.setdefault((kind, layer), []).append(head)
    for (kind, layer), numbers in groups.items():
        yield kind, layer, numbers
