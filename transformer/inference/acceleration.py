"""Entry points to the optional folder `inference/fast`, which may be deleted."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from transformer.inference.backend import Backend
from transformer.model import Transformer


def fastest_backend(model: Transformer, precision: str = "auto") -> Backend:
    """Return `FastBackend` if `inference/fast` exists, else `Backend`. Raises ValueError for an
    unknown precision."""
    try:
        from transformer.inference.fast.fast_backend import FastBackend
    except ModuleNotFoundError as error:
        _reraise_unless_fast_is_missing(error)
        return Backend(model, precision)
    return FastBackend(model, precision)


def fast_products() -> AbstractContextManager[object]:
    """Return a context in which `torch.nn.functional.linear` uses the faster library, if
    `inference/fast` exists. Meant for passes over many sentences without gradients."""
    try:
        from transformer.inference.fast.products import onednn_products
    except ModuleNotFoundError as error:
        _reraise_unless_fast_is_missing(error)
        return nullcontext()
    return onednn_products()


def _reraise_unless_fast_is_missing(error: ModuleNotFoundError) -> None:
    """Raise `error` again if another module than `inference/fast` is missing."""
    if not (error.name or "").startswith("transformer.inference.fast"):
        raise error
