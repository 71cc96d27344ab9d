"""Adam's moments of one corner of a weight matrix, and its last update written out.

The symbols are those of Kingma and Ba 2015, algorithm 1 (https://arxiv.org/abs/1412.6980):

    m_t = β₁·m_{t-1} + (1 - β₁)·g_t          m̂_t = m_t / (1 - β₁ᵗ)
    v_t = β₂·v_{t-1} + (1 - β₂)·g_t²         v̂_t = v_t / (1 - β₂ᵗ)
    θ_t = θ_{t-1} - α·m̂_t / (√v̂_t + ε)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MATRICES = ("before", "gradient", "m", "v", "m_hat", "v_hat", "step", "value")
"""θ_{t-1}, g_t, m_t, v_t, m̂_t, v̂_t, α·m̂_t / (√v̂_t + ε) and θ_t."""

NUMBERS = ("t", "learning_rate", "beta1", "beta2", "epsilon")
CORNER = 16
"""Maximum number of rows and columns shown."""


def moments_data(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `moments.js` shows of a run's inspect.json; an empty update shows a placeholder.

    `update` has the name of the matrix, its whole shape, `NUMBERS` and `MATRICES` (lists of rows,
    of which the first 16 by 16 are shown). NaN and infinity are shown as such.

    Raises:
        ValueError: if an entry is missing or no number, or the matrices differ in size.
    """
    if not update:
        return {"name": ""}
    try:
        return _moments_data(update)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"The update has a value of the wrong type: {error}.") from error


def _moments_data(update: Mapping[str, Any]) -> dict[str, Any]:
    missing = [key for key in ("name", *NUMBERS, *MATRICES) if key not in update]
    if missing:
        raise ValueError(f"The update has no {missing[0]!r}; it needs {', '.join(NUMBERS)} and "
                         f"{', '.join(MATRICES)}.")  # fmt: skip
    corners = {key: [row[:CORNER] for row in update[key][:CORNER]] for key in MATRICES}
    sizes = {(len(rows), *sorted({len(row) for row in rows})) for rows in corners.values()}
    size = next(iter(sizes))
    if len(sizes) > 1 or len(size) != 2 or not all(size):
        raise ValueError(f"All matrices must have the same size; they have {sorted(sizes)}.")
    return {
        "name": str(update["name"]),
        "shape": [int(side) for side in update.get("shape", size)],
        **{key: _number(update[key]) for key in NUMBERS},
        "matrices": {
            key: [[_number(value) for value in row] for row in rows]
            for key, rows in corners.items()
        },
    }


def _number(value: Any) -> float | None:
    """Return None for NaN and infinity, which JSON does not have."""
    return float(value) if value is not None and math.isfinite(value) else None
