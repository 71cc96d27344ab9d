"""Heads Up: an encoder–decoder Transformer to translate with, inspect and modify.

The public names are imported on first use, so that `import transformer` alone does not load torch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Between two operations the threads of OpenMP sleep instead of spinning. A spinning thread keeps
# its core from the thread it waits for as soon as anything else runs on the machine: one sentence
# then takes seconds. OpenMP reads this when torch is loaded, and every process started from here
# inherits it. A policy that the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from transformer.hooks import Hooks
    from transformer.inference.trace import Trace
    from transformer.inference.translator import Translator

__all__ = ["Hooks", "Trace", "Translator", "__version__"]
__version__ = "0.1.0"

_EXPORTS = {
    "Hooks": "transformer.hooks",
    "Trace": "transformer.inference.trace",
    "Translator": "transformer.inference.translator",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
