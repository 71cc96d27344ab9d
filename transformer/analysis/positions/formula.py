"""The formula of section 3.5 and what follows from it, in float64; and a misprint of some notes.

A pair is the sine and the cosine that share an i: dimensions 2i and 2i + 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float

Table = Float[np.ndarray, "length d_model"]
Ends = Float[np.ndarray, "rows d_model"]
BASE = 10_000.0


def wavelengths(d_model: int) -> Float[np.ndarray, " pairs"]:
    """Positions after which each pair begins again: 2π·10000^(2i/d_model).

    From 2π up to just below 10000·2π: the last i is d_model/2 − 1 (section 3.5).
    """
    even = np.arange(0, d_model, 2)
    return 2 * np.pi * BASE ** (even / d_model)


def sinusoidal(length: int, d_model: int, start: int = 0) -> Table:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle. In
    float64, to look at errors; `transformer.model.positions` is what models add."""
    return _table(length, d_model, start, cosine_ahead=0)


def misprinted(length: int, d_model: int) -> Table:
    """As some notes have it: the cosine's exponent is (2i+1)/d_model, the sine's 2i/d_model."""
    return _table(length, d_model, 0, cosine_ahead=1)


def _table(length: int, d_model: int, start: int, cosine_ahead: int) -> Table:
    position = np.arange(start, start + length)[:, None]
    even = np.arange(0, d_model, 2)
    found = np.empty((length, d_model))
    found[:, 0::2] = np.sin(position / BASE ** (even / d_model))
    cosines = even[: d_model // 2] + cosine_ahead
    found[:, 1::2] = np.cos(position / BASE ** (cosines / d_model))
    return found


def by_distance(d_model: int, k: int | npt.NDArray[np.integer]) -> Float[np.ndarray, "..."]:
    """PE(p) · PE(p + k) in closed form: Σ_i cos(ω_i k), whatever p is.

    sin(ωp)·sin(ω(p+k)) + cos(ωp)·cos(ω(p+k)) = cos(ωk), summed over the pairs; d_model/2 at k = 0.
    Raises ValueError for an odd d_model, whose last sine has no cosine.
    """
    return np.asarray(np.cos(np.multiply.outer(k, _frequencies(d_model))).sum(axis=-1))


def distances(table: Table, most: int) -> pd.DataFrame:
    """Dot products of rows k apart, over all p: a row for each k from 0 to `most`. Columns: k,
    mean, least, most. Raises ValueError if the table has no two rows that are `most` apart."""
    if not 0 <= most < len(table):
        raise ValueError(f"no rows of {len(table)} are {most} apart; {len(table) - 1} is the most")
    products = np.asarray(table, np.float64) @ np.asarray(table, np.float64).T
    bands = [np.diagonal(products, k) for k in range(most + 1)]
    return pd.DataFrame(
        {
            "k": range(most + 1),
            "mean": [band.mean() for band in bands],
            "least": [band.min() for band in bands],
            "most": [band.max() for band in bands],
        }
    )


def shift_matrix(k: int, d_model: int) -> Float[np.ndarray, "d_model d_model"]:
    """M_k with PE(pos + k) = M_k · PE(pos) for every pos (section 3.5).

    Each pair turns by the angle ω_i k: a block (cos, sin; −sin, cos) on the diagonal, 0 elsewhere.
    Raises ValueError for an odd d_model, whose last sine has no cosine to turn with.
    """
    angle = k * _frequencies(d_model)
    found = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    found[even, even] = found[even + 1, even + 1] = np.cos(angle)
    found[even, even + 1], found[even + 1, even] = np.sin(angle), -np.sin(angle)
    return found


def shift_errors(table: Table, k: int) -> Float[np.ndarray, " rows"]:
    """Largest |PE(pos + k) − M_k·PE(pos)| of each pos whose other end is in the table too. Raises
    ValueError if none is, and for an odd d_model."""
    here, there = _shifted(table, k)
    apart = np.abs(here @ shift_matrix(k, table.shape[1]).T - there)
    return np.asarray(apart.max(axis=1))


def pair_lengths(table: Table) -> Float[np.ndarray, "length pairs"]:
    """sin² + cos² of every pair: 1 on a circle."""
    pairs = table.shape[1] // 2
    return np.asarray(table[:, 0 : 2 * pairs : 2] ** 2 + table[:, 1 : 2 * pairs : 2] ** 2)


def pair_residuals(table: Table, k: int) -> Float[np.ndarray, " pairs"]:
    """What even the best 2×2 matrix of each pair leaves of pos → pos + k: the largest error of a
    number over all pos. The matrix is that of least squares, any matrix, not only a rotation.
    Raises ValueError if fewer than three positions have both ends: two points fit any two."""
    here, there = _shifted(table, k)
    if len(here) < 3:
        raise ValueError(f"{len(here)} positions are too few to fit a 2×2 matrix; take 3 or more")
    pairs = range(0, table.shape[1] - 1, 2)
    return np.array([_left(here[:, i : i + 2], there[:, i : i + 2]) for i in pairs])


def map_residual(table: Table, k: int) -> float:
    """The same for one d_model × d_model matrix of any kind. Raises ValueError if there are not
    more positions than dimensions: then something always fits."""
    here, there = _shifted(table, k)
    if len(here) <= table.shape[1]:
        raise ValueError(
            f"{len(here)} positions fit any matrix of {table.shape[1]} dimensions; take more"
        )
    return _left(here, there)


def _left(here: Ends, there: Ends) -> float:
    best = np.linalg.lstsq(here, there, rcond=None)[0]
    return float(np.abs(here @ best - there).max())


def _shifted(table: Table, k: int) -> tuple[Ends, Ends]:
    """Rows that have one k further on in the table, and those rows; k may be negative."""
    if abs(k) >= len(table):
        raise ValueError(f"no rows of {len(table)} are {abs(k)} apart")
    ahead = table[k:] if k >= 0 else table[:k]
    behind = table[: len(table) - k] if k >= 0 else table[-k:]
    return np.asarray(behind, np.float64), np.asarray(ahead, np.float64)


def _frequencies(d_model: int) -> Float[np.ndarray, " pairs"]:
    """ω_i = 10000^(−2i/d_model), the angle by which a pair turns in one position."""
    if d_model % 2:
        raise ValueError(f"d_model must be even, so that each sine has its cosine, not {d_model}")
    return 2 * np.pi / wavelengths(d_model)
