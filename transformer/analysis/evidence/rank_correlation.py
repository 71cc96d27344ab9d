"""Spearman's rank correlation of two arrays, row by row: do two measures order the same?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float


def rank_correlations(
    a: Float[np.ndarray, "*many row column"], b: Float[np.ndarray, "*rows column"]
) -> Float[np.ndarray, "*many row"]:
    """Spearman's of each row of `a` and that of `b`, which may be the same for many; equal values
    share the mean of their ranks. NaN where a row is constant. Spearman 1904.
    """
    x, y = _centred_ranks(a), _centred_ranks(b)
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.float64] = (x * y).sum(-1) / np.sqrt(
            (x * x).sum(-1) * (y * y).sum(-1)
        )
    return found


def _centred_ranks(values: Float[np.ndarray, "*rows column"]) -> Float[np.ndarray, "*rows column"]:
    # By pandas, which the app has loaded anyway: scipy.stats takes half a second and 70 MB.
    rows = pd.DataFrame(values.reshape(-1, values.shape[-1]))
    ranks = rows.rank(axis=1).to_numpy().reshape(values.shape)
    return np.asarray(ranks - ranks.mean(axis=-1, keepdims=True))
