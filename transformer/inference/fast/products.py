"""x W^T + b in float32, by the library that is faster on this processor.

torch multiplies float32 by MKL, which may leave much of another maker's processor unused. oneDNN,
which torch brings along for bfloat16, has no favourites. It has no gradients here.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

BLOCKS = (256, 32)
"""Rows that oneDNN is given at a time. It compiles each product for its number of rows, and keeps
that: with whatever number there is, a server would grow and grow."""

WIDE = 2**16
"""Entries of a weight below which torch's own product is as fast."""

TRIALS = 5
"""Products of each library that are timed before one is chosen."""


def linear(
    x: Float[Tensor, "*rows in"], weight: Float[Tensor, "out in"], bias: Tensor | None = None
) -> Float[Tensor, "*rows out"]:
    """As `torch.nn.functional.linear`, but for rounding."""
    if _suits(x, weight) and onednn_is_faster():
        with suppress(RuntimeError):  # it has no room: torch needs less, or says what is wrong
            return _in_blocks(x, weight, bias)
    return nn.functional.linear(x, weight, bias)


@contextmanager
def onednn_products() -> Iterator[None]:
    """Inside it, `torch.nn.functional.linear` is `linear` on this thread."""
    if not onednn_is_faster():
        yield
        return
    with _OneDnnLinear():
        yield


class _OneDnnLinear(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is nn.functional.linear:
            return linear(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@functools.cache
def onednn_is_faster() -> bool:
    """Whether its float32 product is clearly faster on this processor. Measured once a process: the
    two take turns and the quickest of each counts, so that other work does not decide."""
    x, weight = torch.ones(64, 256), torch.ones(1024, 256)
    ways: list[Callable[..., Tensor]] = [_onednn, nn.functional.linear]
    best = [float("inf")] * len(ways)
    with torch.no_grad():
        try:
            for _ in range(TRIALS):
                for number, product in enumerate(ways):
                    begun = time.perf_counter()
                    product(x, weight)
                    best[number] = min(best[number], time.perf_counter() - begun)
        except (AttributeError, RuntimeError):  # a torch or a processor without it
            return False
    return best[0] < 0.8 * best[1]


def bf16_product(weight: Float[Tensor, "out in"]) -> Callable[[Tensor], Tensor]:
    """x W^T of bfloat16 rows; a copy of the weight is laid out for it where there is a way to."""
    weight = weight.to(torch.bfloat16)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, 32)
        _onednn(weight[:1], packed)  # not every processor that lays it out multiplies it
    except (AttributeError, RuntimeError):
        return functools.partial(nn.functional.linear, weight=weight)
    return functools.partial(_onednn, weight=packed)


def _in_blocks(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What is left of the rows in the end is torch's."""
    rows = x.reshape(-1, x.shape[-1])
    product, start = rows.new_empty(len(rows), len(weight)), 0
    for size in BLOCKS:
        while len(rows) - start >= size:
            here = slice(start, start + size)
            product[here] = _onednn(rows[here], weight, bias)
            start += size
    if start < len(rows):
        product[start:] = nn.functional.linear(rows[start:], weight, bias)
    return product.view(*x.shape[:-1], len(weight))


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # type: ignore[no-any-return]


def _suits(x: Tensor, weight: Tensor) -> bool:
    return (
        weight.numel() >= WIDE
        and x.numel() >= BLOCKS[-1] * x.shape[-1]
        and not torch.is_grad_enabled()
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
    )
