"""Positional encodings in numbers (section 3.5): formula, tables, extrapolation.

`formula` needs no model, `tables` reads one's vectors, `extrapolation` runs it past what training
met, `score_parts` splits first-layer scores into word and place.
It may not train the models that it compares.
"""

from transformer.analysis.positions.extrapolation import (
    BEYOND,
    Right,
    apart,
    by_length,
    joined,
    moved,
    sentences,
)
from transformer.analysis.positions.formula import (
    by_distance,
    distances,
    map_residual,
    misprinted,
    pair_lengths,
    pair_residuals,
    shift_errors,
    shift_matrix,
    sinusoidal,
    wavelengths,
)
from transformer.analysis.positions.tables import (
    ORDER_PAIR,
    SIDES,
    STACKS,
    Reordered,
    added,
    noise_like,
    reordered,
    sinusoid_fit,
    table,
)

__all__ = [
    "BEYOND",
    "ORDER_PAIR",
    "SIDES",
    "STACKS",
    "Reordered",
    "Right",
    "added",
    "apart",
    "by_distance",
    "by_length",
    "distances",
    "joined",
    "map_residual",
    "misprinted",
    "moved",
    "noise_like",
    "pair_lengths",
    "pair_residuals",
    "reordered",
    "sentences",
    "shift_errors",
    "shift_matrix",
    "sinusoid_fit",
    "sinusoidal",
    "table",
    "wavelengths",
]
