"""The formula of section 3.5 and its properties, in float64; and a common misprint.

A pair is the sine and the cosine that share an i: dimensions 2i and 2i + 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float

Table = Float[np.ndarray, "length d_model"]
PositionRows = Float[np.ndarray, "rows d_model"]
BASE = 10_000.0


def wavelengths(d_model: int) -> Float[np.ndarray, " pairs"]:
    """Return the wavelength of each pair in positions: 2π·10000^(2i/d_model).

    From 2π up to just below 10000·2π: the last i is d_model/2 − 1 (section 3.5).
    """
    even_dimensions = np.arange(0, d_model, 2)
    return 2 * np.pi * BASE ** (even_dimensions / d_model)


def sinusoidal(length: int, d_model: int, start: int = 0) -> Table:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.

    In float64, to examine errors; models use `transformer.model.positions`.
    """
    return _table(length, d_model, start, cosine_offset=0)


def misprinted(length: int, d_model: int) -> Table:
    """Return the table with a common misprint: the cosine's exponent is (2i+1)/d_model."""
    return _table(length, d_model, 0, cosine_offset=1)


def _table(length: int, d_model: int, start: int, cosine_offset: int) -> Table:
    position = np.arange(start, start + length)[:, None]
    even_dimensions = np.arange(0, d_model, 2)
    values = np.empty((length, d_model))
    values[:, 0::2] = np.sin(position / BASE ** (even_dimensions / d_model))
    cosine_dimensions = even_dimensions[: d_model // 2] + cosine_offset
    values[:, 1::2] = np.cos(position / BASE ** (cosine_dimensions / d_model))
    return values


def dot_product_statistics(table: Table, max_distance: int) -> pd.DataFrame:
    """Return statistics of the dot products of rows at distance k, over all p, for k up to
    `max_distance`.

    Columns: k, mean, least, most. Raises ValueError if the table has no two rows at `max_distance`.
    """
    if not 0 <= max_distance < len(table):
        raise ValueError(
            f"the distance must be 0 to {len(table) - 1} for {len(table)} rows, not {max_distance}"
        )
    products = np.asarray(table, np.float64) @ np.asarray(table, np.float64).T
    diagonals = [np.diagonal(products, k) for k in range(max_distance + 1)]
    return pd.DataFrame(
        {
            "k": range(max_distance + 1),
            "mean": [diagonal.mean() for diagonal in diagonals],
            "least": [diagonal.min() for diagonal in diagonals],
            "most": [diagonal.max() for diagonal in diagonals],
        }
    )


def pair_residuals(table: Table, k: int) -> Float[np.ndarray, " pairs"]:
    """Return the largest error of the best 2×2 matrix of each pair for pos → pos + k, over all pos.

    The matrix is fitted by least squares and need not be a rotation. Raises ValueError for fewer
    than three positions, because two points always fit.
    """
    start, shifted = _shift_pairs(table, k)
    if len(start) < 3:
        raise ValueError(f"{len(start)} positions are too few to fit a 2×2 matrix; take 3 or more")
    pairs = range(0, table.shape[1] - 1, 2)
    return np.array([_max_residual(start[:, i : i + 2], shifted[:, i : i + 2]) for i in pairs])


def _max_residual(start: PositionRows, shifted: PositionRows) -> float:
    matrix = np.linalg.lstsq(start, shifted, rcond=None)[0]
    return float(np.abs(start @ matrix - shifted).max())


def _shift_pairs(table: Table, k: int) -> tuple[PositionRows, PositionRows]:
    """Return rows with a partner at distance k in the table, and their partners; k may be
    negative."""
    if abs(k) >= len(table):
        raise ValueError(f"no two of {len(table)} rows are {abs(k)} positions apart")
    ahead = table[k:] if k >= 0 else table[:k]
    behind = table[: len(table) - k] if k >= 0 else table[-k:]
    return np.asarray(behind, np.float64), np.asarray(ahead, np.float64)
