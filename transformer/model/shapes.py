"""A model's names and shapes, with no weights drawn and no memory taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


@contextmanager
def shapes_only() -> Iterator[None]:
    """What is built here has parameters of their shapes on the device "meta", without values."""
    with _ShapesOnly(), torch.device("meta"):
        yield


class _ShapesOnly(TorchFunctionMode):
    """There is nothing to draw. On "meta" PyTorch works normal numbers out by its reference code,
    and importing that takes as long as importing torch."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if func is torch.nn.init.normal_:
            return named["tensor"] if "tensor" in named else args[0]
        return func(*args, **named)
