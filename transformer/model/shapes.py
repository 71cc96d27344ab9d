"""Names and shapes of a model, without initialising or allocating weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


@contextmanager
def shapes_only() -> Iterator[None]:
    """Build modules in the block on the device "meta": parameters have shapes but no values."""
    with _ShapesOnly(), torch.device("meta"):
        yield


class _ShapesOnly(TorchFunctionMode):
    """Skip initialisation: on "meta", PyTorch would import its reference implementation for normal
    numbers, which takes as long as importing torch."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named_arguments = dict(kwargs or {})
        if func is torch.nn.init.normal_:
            return named_arguments["tensor"] if "tensor" in named_arguments else args[0]
        return func(*args, **named_arguments)
