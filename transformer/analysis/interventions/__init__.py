"""Interventions: changes to one forward pass, as `Hooks`, and their effect.

`switching` turns heads off or down, `patches` changes rows, cells, activations and tokens,
`blanking` sets each cell of a head to 0 in turn, `comparison` compares the result with the
original. The model itself is never changed: hooks are passed to one call, because a cached model is
shared.
"""

from transformer.analysis.interventions.comparison import Comparison, compare
from transformer.analysis.interventions.patches import (
    masked_tokens,
    patched,
    replaced_row,
)
from transformer.analysis.interventions.switching import (
    combined,
    site,
    switched_off,
    to_mean,
    uniform,
)
from transformer.measures.kinds import Head

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
]
