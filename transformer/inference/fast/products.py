"""Matrix products x W^T + b by the library that is faster on this processor, without gradients.

torch multiplies float32 matrices with MKL, which is slow on some processors not made by Intel.
torch also contains oneDNN, for bfloat16; its float32 product can be faster there.
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

ROW_BLOCKS = (256, 32)
"""Block sizes in rows for oneDNN. It compiles and caches a kernel for every number of rows, so
arbitrary numbers would fill the memory of a server."""

MIN_WEIGHT_ENTRIES = 2**16
"""Minimum size of a weight matrix for oneDNN; with a smaller one torch's own product is as fast."""

TRIALS = 5
"""Number of products that each library is timed for."""


def linear(
    x: Float[Tensor, "*rows in"], weight: Float[Tensor, "out in"], bias: Tensor | None = None
) -> Float[Tensor, "*rows out"]:
    """`torch.nn.functional.linear` up to rounding, with the faster library."""
    if _is_supported(x, weight) and onednn_is_faster():
        with suppress(RuntimeError):  # out of memory: torch needs less, or raises a clear error
            return _onednn_in_blocks(x, weight, bias)
    return nn.functional.linear(x, weight, bias)


@contextmanager
def onednn_products() -> Iterator[None]:
    """Context in which `torch.nn.functional.linear` calls `linear`, on this thread only."""
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
    """Return whether oneDNN's float32 product is clearly faster on this processor.

    Measured once per process: the two libraries alternate and the fastest run of each counts, so
    that other processes do not distort the result.
    """
    x, weight = torch.ones(64, 256), torch.ones(1024, 256)
    implementations: list[Callable[..., Tensor]] = [_onednn, nn.functional.linear]
    best_seconds = [float("inf")] * len(implementations)
    with torch.no_grad():
        try:
            for _ in range(TRIALS):
                for number, product in enumerate(implementations):
                    start = time.perf_counter()
                    product(x, weight)
                    best_seconds[number] = min(best_seconds[number], time.perf_counter() - start)
        except (AttributeError, RuntimeError):  # torch or the processor lacks oneDNN
            return False
    return best_seconds[0] < 0.8 * best_seconds[1]


def bf16_product(weight: Float[Tensor, "out in"]) -> Callable[[Tensor], Tensor]:
    """Return the function x ↦ x W^T for bfloat16 rows, with the weight packed for oneDNN if
    possible."""
    weight = weight.to(torch.bfloat16)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, 32)
        _onednn(weight[:1], packed)  # some processors can pack the weight but not multiply it
    except (AttributeError, RuntimeError):
        return functools.partial(nn.functional.linear, weight=weight)
    return functools.partial(_onednn, weight=packed)


def _onednn_in_blocks(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Multiply in blocks of `ROW_BLOCKS` rows with oneDNN, and the remaining rows with torch."""
    rows = x.reshape(-1, x.shape[-1])
    product, start = rows.new_empty(len(rows), len(weight)), 0
    for size in ROW_BLOCKS:
        while len(rows) - start >= size:
            block = slice(start, start + size)
            product[block] = _onednn(rows[block], weight, bias)
            start += size
    if start < len(rows):
        product[start:] = nn.functional.linear(rows[start:], weight, bias)
    return product.view(*x.shape[:-1], len(weight))


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # type: ignore[no-any-return]


def _is_supported(x: Tensor, weight: Tensor) -> bool:
    return (
        weight.numel() >= MIN_WEIGHT_ENTRIES
        and x.numel() >= ROW_BLOCKS[-1] * x.shape[-1]
        and not torch.is_grad_enabled()
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
    )
