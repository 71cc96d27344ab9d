"""Interventions: changes to one forward pass, as `Hooks`, and their effect.

`switching` turns heads off or down, `patches` changes rows, cells, activations and tokens,
`blanking` every cell of a head in its turn, `comparison` holds the result beside the original;
`patching_sweep` puts every activation of one sentence into another, one at a time.
It may not touch the model: hooks are given for one call, and a cached model serves others
meanwhile.
"""

from transformer.analysis.interventions.comparison import Comparison, compare
from transformer.analysis.interventions.patches import hidden, painted, patched, without_pieces
from transformer.analysis.interventions.switching import (
    Head,
    site,
    switched_off,
    to_mean,
    together,
    uniform,
)

__all__ = [
    "Comparison",
    "Head",
    "compare",
    "hidden",
    "painted",
    "patched",
    "site",
    "switched_off",
    "to_mean",
    "together",
    "uniform",
    "without_pieces",
]
