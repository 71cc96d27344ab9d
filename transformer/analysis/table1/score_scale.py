"""Measured effect of d_k on a softmax of dot products (section 3.2.1).

Footnote 4 of the paper: if the components of q and k are independent with mean 0 and variance 1,
q·k has mean 0 and variance d_k. A softmax of such large scores is almost one-hot and has tiny
gradients; the factor 1/√d_k makes the variance 1 for any d_k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.config import Score

KINDS: dict[Score, str] = {"scaled_dot": "q·k / √d_k", "dot": "q·k", "additive": "v·tanh(q + k)"}
"""The score functions of `model.attention.ScoreFunction`, as formulas."""
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
N_KEYS = 32  # keys of a row, about the length of a sentence
N_ROWS = 256
SATURATION_THRESHOLD = 0.01
"""A softmax is counted as saturated if the norm of its Jacobian is below this. Over two equal
weights the norm is 0.5, over 32 equal ones 0.17."""

Rows = Float[np.ndarray, "rows keys"]
Row = Float[np.ndarray, "rows"]


@dataclass(frozen=True, eq=False)
class ScoreSample:
    """Attention rows of random queries, each over its own random keys.

    Attributes:
        scores, weights: of each key; the weights of a row sum to 1.
        query_gradients: ‖∂w_j/∂q‖ of each key j: the sensitivity of its weight to the query.
    """

    scores: Rows
    weights: Rows
    query_gradients: Rows

    @property
    def gradient(self) -> Row:
        """‖∂w/∂q‖ of each row, over all its keys (Frobenius norm)."""
        return np.asarray(np.sqrt((self.query_gradients**2).sum(axis=-1)))


def draw(
    d_k: int, *, keys: int = N_KEYS, rows: int = N_ROWS, seed: int = 1
) -> dict[Score, ScoreSample]:
    """Draw queries and keys with independent components of mean 0 and variance 1, and compute
    their scores and attention weights.

    All score functions get the same queries and keys. The v of "additive" is drawn for each row
    like the initial weights of a layer, uniformly from -1/√d_k to 1/√d_k. Raises ValueError for a
    size below 1.
    """
    if min(d_k, keys, rows) < 1:
        raise ValueError(f"d_k, keys and rows must be at least 1, not {d_k}, {keys} and {rows}")
    rng = np.random.default_rng([seed, d_k, keys, rows])
    query = rng.standard_normal((rows, 1, d_k), np.float32)
    key = rng.standard_normal((rows, keys, d_k), np.float32)
    v = rng.uniform(-(d_k**-0.5), d_k**-0.5, (rows, d_k, 1)).astype(np.float32)
    activation = np.tanh(query + key)
    product = (key @ query.swapaxes(1, 2))[..., 0].astype(np.float64)
    return {
        "scaled_dot": _sample(product * d_k**-0.5, key, d_k**-0.5),
        "dot": _sample(product, key, 1.0),
        "additive": _sample(
            (activation @ v)[..., 0].astype(np.float64),
            (1 - activation**2) * v.swapaxes(1, 2),
            1.0,
        ),
    }


def _sample(
    scores: Rows, score_gradients: Float[np.ndarray, "rows keys d_k"], scale: float
) -> ScoreSample:
    """Apply softmax and compute ∂w_j/∂q = w_j · (∂s_j/∂q - Σ_i w_i ∂s_i/∂q), where ∂s_j/∂q is
    `score_gradients` · `scale`."""
    weights = softmax(scores)
    centred = score_gradients - weights[:, None, :].astype(np.float32) @ score_gradients
    squares = np.einsum("rkd,rkd->rk", centred, centred).astype(np.float64)
    return ScoreSample(scores, weights, scale * weights * np.sqrt(squares))


def softmax(scores: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows keys"]:
    """Return the softmax along the keys; a score of -∞ is a masked key."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def jacobian_norm(weights: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows"]:
    """Return the Frobenius norm of the Jacobian ∂w/∂s = diag(w) - w wᵀ of a softmax with these
    weights.

    Its square is Σ w² - 2 Σ w³ + (Σ w²)². At most ½, with two weights of ½; 0 with one of 1.
    """
    w = np.asarray(weights, np.float64)
    complement = w.sum(axis=-1, keepdims=True) - w  # 1 - w, exact enough where w is nearly 1
    squares = w**2
    off_diagonal = squares.sum(axis=-1) ** 2 - (squares**2).sum(axis=-1)
    return np.asarray(np.sqrt((squares * complement**2).sum(axis=-1) + np.maximum(off_diagonal, 0)))


def entropy(weights: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows"]:
    """Return −Σ w · log2 w of each row, in bits."""
    w = np.asarray(weights, np.float64)
    return np.asarray((w * np.abs(np.log2(np.where(w > 0, w, 1.0)))).sum(axis=-1))


def measure(
    widths: Sequence[int] = WIDTHS, *, keys: int = N_KEYS, rows: int = N_ROWS, seed: int = 1
) -> pd.DataFrame:
    """Measure every score function at every d_k over random rows; one table row for each pair.

    Columns: "d_k", "score"; "variance" of a row's scores (mean over rows) and "expected", the
    closed form; "largest", mean of the largest weight; "entropy", mean, bits; "jacobian", median of
    the norm of the softmax's Jacobian; "saturated", share of rows where it is below
    `SATURATION_THRESHOLD`; "gradient", median of ‖∂w/∂q‖, with "gradient_low" and "gradient_high",
    its quartiles, and "gradient_mean". Raises ValueError as `draw` does.
    """
    records = []
    for d_k in widths:
        for kind, sample in draw(d_k, keys=keys, rows=rows, seed=seed).items():
            norms = jacobian_norm(sample.weights)
            low, middle, high = np.quantile(sample.gradient, (0.25, 0.5, 0.75))
            records.append(
                {
                    "d_k": d_k,
                    "score": kind,
                    "variance": sample.scores.var(axis=-1, ddof=1).mean(),
                    "expected": variance(kind, d_k),
                    "largest": sample.weights.max(axis=-1).mean(),
                    "entropy": entropy(sample.weights).mean(),
                    "jacobian": np.median(norms),
                    "saturated": (norms < SATURATION_THRESHOLD).mean(),
                    "gradient": middle,
                    "gradient_low": low,
                    "gradient_high": high,
                    "gradient_mean": sample.gradient.mean(),
                }
            )
    return pd.DataFrame(records)


def variance(kind: Score, d_k: int) -> float:
    """Return the expected variance of the scores in one row of `draw`'s queries and keys.

    For q·k it is ‖q‖², on average d_k (footnote 4); with the scale, 1. For v·tanh(q + k) it is
    d_k · E[v²] times the variance of tanh(q + k) over k, and E[v²] = 1/(3·d_k), so d_k cancels.
    """
    if kind == "dot":
        return float(d_k)
    if kind == "scaled_dot":
        return 1.0
    nodes, quadrature_weights = np.polynomial.hermite_e.hermegauss(80)
    quadrature_weights = quadrature_weights / math.sqrt(
        2 * math.pi
    )  # the weights of a standard normal
    activation = np.tanh(nodes[:, None] + nodes)  # rows: q, columns: k
    variance_over_k = (activation**2) @ quadrature_weights - (activation @ quadrature_weights) ** 2
    return float(quadrature_weights @ variance_over_k / 3)
