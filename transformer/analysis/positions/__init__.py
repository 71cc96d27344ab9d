"""Positional encodings in numbers (section 3.5): formula, tables, extrapolation.

`formula` needs no model, `tables` reads a model's vectors, `extrapolation` runs it beyond its
training length, `score_parts` splits first-layer scores into content and position. No model is
trained here.
"""

from transformer.analysis.positions.extrapolation import (
    LENGTH_TASKS,
    LengthAccuracy,
    accuracy_at_length,
    grammar_sentences,
    joined_log_probability,
    separate_log_probabilities,
    shifted_log_probability,
)
from transformer.analysis.positions.formula import (
    dot_product_statistics,
    misprinted,
    pair_residuals,
    sinusoidal,
    wavelengths,
)
from transformer.analysis.positions.tables import (
    ORDER_PAIR,
    SIDES,
    STACKS,
    ReorderingEffect,
    embedding_norms,
    reordering_effect,
    table,
)

__all__ = [
    "LENGTH_TASKS",
    "ORDER_PAIR",
    "SIDES",
    "STACKS",
    "LengthAccuracy",
    "ReorderingEffect",
    "accuracy_at_length",
    "dot_product_statistics",
    "embedding_norms",
    "grammar_sentences",
    "joined_log_probability",
    "misprinted",
    "pair_residuals",
    "reordering_effect",
    "separate_log_probabilities",
    "shifted_log_probability",
    "sinusoidal",
    "table",
    "wavelengths",
]
