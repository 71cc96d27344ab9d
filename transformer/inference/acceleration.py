"""What the optional folder `inference/fast` adds, where it is there."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from transformer.inference.backend import Backend
from transformer.model import Transformer


def backend_of(model: Transformer, precision: str = "auto") -> Backend:
    """The fastest backend there is. Raises ValueError for a precision that does not exist."""
    try:
        from transformer.inference.fast.fast_backend import FastBackend
    except ModuleNotFoundError as error:
        _check_absent(error)
        return Backend(model, precision)
    return FastBackend(model, precision)


def fast_products() -> AbstractContextManager[object]:
    """Inside it, `torch.nn.functional.linear` runs by the faster library, if `inference/fast` is
    there: for passes over many sentences without gradients."""
    try:
        from transformer.inference.fast.products import onednn_products
    except ModuleNotFoundError as error:
        _check_absent(error)
        return nullcontext()
    return onednn_products()


def _check_absent(error: ModuleNotFoundError) -> None:
    """Raises the error again unless it is the folder itself that is missing."""
    if not (error.name or "").startswith("transformer.inference.fast"):
        raise error
