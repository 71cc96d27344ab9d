"""The weight on the previous token, on the row's own position, on the next token."""

from __future__ import annotations

from transformer.measures.measure import Measure

MEASURES = (
    Measure(
        "previous",
        "Previous token",
        "The weight on the previous token.",
        lambda attention: attention.on(attention.rows.j == attention.rows.i - 1),
        kinds=("encoder", "decoder"),
        counts=lambda rows: rows.real & (rows.i[:, 0] > 0),
        group="position",
    ),
    Measure(
        "itself",
        "Same position",
        "The weight on the row's own position.",
        lambda attention: attention.on(attention.rows.j == attention.rows.i),
        kinds=("encoder", "decoder"),
        group="position",
    ),
    Measure(
        "next",
        "Next token",
        "The weight on the next token.",
        lambda attention: attention.on(attention.rows.j == attention.rows.i + 1),
        kinds=("encoder",),
        counts=lambda rows: rows.i[:, 0] < rows.n_query[:, None] - 1,
        group="position",
    ),
)
