"""Heads Up: an encoder–decoder Transformer to translate with, inspect and modify.

The few names a user types. They are imported when first asked for, so that a room which needs no
torch does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer.hooks import Hooks
    from transformer.inference.trace import Trace
    from transformer.inference.translator import Translator

__all__ = ["Hooks", "Trace", "Translator", "__version__"]
__version__ = "0.1.0"

_ROOMS = {
    "Hooks": "transformer.hooks",
    "Trace": "transformer.inference.trace",
    "Translator": "transformer.inference.translator",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
