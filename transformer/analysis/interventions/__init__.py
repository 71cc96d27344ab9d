"""Interventions: changes to one forward pass, as `Hooks`, and their effect.

`switching` turns heads off or down, `patches` changes rows, cells, activations and tokens,
`blanking` sets each cell of a head to 0 in turn, `comparison` compares the result with the
original; `patching_sweep` patches every activation of one sentence into another, one at a time. The
model itself is never changed: hooks are passed to one call, because a cached model is shared.
"""

from collections.abc import Callable
from typing import Any

from transformer.analysis.interventions.comparison import Comparison, compare
from transformer.analysis.interventions.patches import (
    masked_tokens,
    patched,
    replaced_row,
    without_pieces,
)
from transformer.analysis.interventions.switching import (
    Head,
    combined,
    site,
    switched_off,
    to_mean,
    uniform,
)

__all__ = [
    "Comparison",
    "Head",
    "combined",
    "compare",
    "masked_tokens",
    "patched",
    "replaced_row",
    "site",
    "switched_off",
    "to_mean",
    "uniform",
    "without_pieces",
]

_OLD_NAMES: dict[str, Callable[..., Any]] = {
    "hidden": masked_tokens,
    "painted": replaced_row,
    "together": combined,
}


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a function by its former name, which programs copied from the Heads lab may use."""
    if name in _OLD_NAMES:
        return _OLD_NAMES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
