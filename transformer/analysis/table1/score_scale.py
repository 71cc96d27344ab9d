"""What the length of queries and keys does to a softmax (section 3.2.1), measured.

Footnote 4 of the paper: where the components of q and k are independent with mean 0 and variance
1, q·k has mean 0 and variance d_k. A softmax of such scores is a choice that hardly a gradient
changes; 1/√d_k brings the variance back to 1, whatever d_k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.cancellation import check_cancelled
from transformer.config import Score
from transformer.inference.trace import WEIGHTS, Trace

KINDS: dict[Score, str] = {"scaled_dot": "q·k / √d_k", "dot": "q·k", "additive": "v·tanh(q + k)"}
"""The score functions of `model.attention.ScoreFunction`, as they are written."""
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
KEYS = 32  # of a row, about a sentence
ROWS = 256
STILL = 0.01
"""A softmax whose Jacobian's norm is below this hardly moves, whatever moves its scores. Over two
equal weights the norm is 0.5, over 32 equal ones 0.17."""

Rows = Float[np.ndarray, "rows keys"]
Row = Float[np.ndarray, "rows"]


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows of attention of random queries, each over its own random keys.

    Attributes:
        scores, weights: of each key; the weights of a row sum to 1.
        answers: ‖∂w_j/∂q‖ of each key j: how its weight answers to a change of the query.
        gradient: ‖∂w/∂q‖ of each row, over all its keys (Frobenius norm).
    """

    scores: Rows
    weights: Rows
    answers: Rows

    @property
    def gradient(self) -> Row:
        return np.asarray(np.sqrt((self.answers**2).sum(axis=-1)))


def draw(d_k: int, *, keys: int = KEYS, rows: int = ROWS, seed: int = 1) -> dict[Score, Draw]:
    """Queries and keys with independent components of mean 0 and variance 1, by every score.

    All three score the same queries and keys. The v of "additive" is drawn for each row as a new
    layer draws it, evenly from -1/√d_k to 1/√d_k. Raises ValueError for a size below 1.
    """
    if min(d_k, keys, rows) < 1:
        raise ValueError(f"d_k, keys and rows must be at least 1, not {d_k}, {keys} and {rows}")
    rng = np.random.default_rng([seed, d_k, keys, rows])
    query = rng.standard_normal((rows, 1, d_k), np.float32)
    key = rng.standard_normal((rows, keys, d_k), np.float32)
    v = rng.uniform(-(d_k**-0.5), d_k**-0.5, (rows, d_k, 1)).astype(np.float32)
    bent = np.tanh(query + key)
    product = (key @ query.swapaxes(1, 2))[..., 0].astype(np.float64)
    return {
        "scaled_dot": _attended(product * d_k**-0.5, key, d_k**-0.5),
        "dot": _attended(product, key, 1.0),
        "additive": _attended(
            (bent @ v)[..., 0].astype(np.float64), (1 - bent**2) * v.swapaxes(1, 2), 1.0
        ),
    }


def _attended(scores: Rows, slopes: Float[np.ndarray, "rows keys d_k"], scale: float) -> Draw:
    """`slopes` · `scale` is ∂s_j/∂q; ∂w_j/∂q = w_j · (∂s_j/∂q - Σ_i w_i ∂s_i/∂q)."""
    weights = softmax(scores)
    apart = slopes - weights[:, None, :].astype(np.float32) @ slopes
    squares = np.einsum("rkd,rkd->rk", apart, apart).astype(np.float64)
    return Draw(scores, weights, scale * weights * np.sqrt(squares))


def softmax(scores: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows keys"]:
    """Along the keys; a score of -∞ is a key that may not be attended to."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def jacobian(weights: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows"]:
    """‖∂w/∂s‖ of a softmax with these weights: of the matrix diag(w) - w wᵀ (Frobenius norm). Its
    square is Σ w² - 2 Σ w³ + (Σ w²)². At most ½, with two weights of ½; 0 with one of 1."""
    w = np.asarray(weights, np.float64)
    others = w.sum(axis=-1, keepdims=True) - w  # 1 - w, exact enough where w is nearly 1
    squares = w**2
    off = squares.sum(axis=-1) ** 2 - (squares**2).sum(axis=-1)
    return np.asarray(np.sqrt((squares * others**2).sum(axis=-1) + np.maximum(off, 0)))


def entropy(weights: Float[np.ndarray, "*rows keys"]) -> Float[np.ndarray, "*rows"]:
    """−Σ w · log2 w of each row, in bits."""
    w = np.asarray(weights, np.float64)
    return np.asarray((w * np.abs(np.log2(np.where(w > 0, w, 1.0)))).sum(axis=-1))


def measure(
    widths: Sequence[int] = WIDTHS, *, keys: int = KEYS, rows: int = ROWS, seed: int = 1
) -> pd.DataFrame:
    """Every score function at every width: a line each, measured over random rows.

    Columns: "d_k", "score"; "variance" of a row's scores (mean over rows) and "expected", the
    closed form; "largest", mean of the greatest weight; "entropy", mean, bits; "jacobian", median
    of the norm of the softmax's Jacobian; "still", share of rows with less than `STILL`;
    "gradient", median of the gradient's norm at q, with "gradient_low" and "gradient_high", its
    quartiles, and "gradient_mean". Raises ValueError as `draw`.
    """
    lines = []
    for d_k in widths:
        for kind, drawn in draw(d_k, keys=keys, rows=rows, seed=seed).items():
            norms = jacobian(drawn.weights)
            low, middle, high = np.quantile(drawn.gradient, (0.25, 0.5, 0.75))
            lines.append(
                {
                    "d_k": d_k,
                    "score": kind,
                    "variance": drawn.scores.var(axis=-1, ddof=1).mean(),
                    "expected": variance(kind, d_k),
                    "largest": drawn.weights.max(axis=-1).mean(),
                    "entropy": entropy(drawn.weights).mean(),
                    "jacobian": np.median(norms),
                    "still": (norms < STILL).mean(),
                    "gradient": middle,
                    "gradient_low": low,
                    "gradient_high": high,
                    "gradient_mean": drawn.gradient.mean(),
                }
            )
    return pd.DataFrame(lines)


def variance(kind: Score, d_k: int) -> float:
    """The variance of the scores in one row, in the mean over rows, of `draw`'s numbers.

    q·k has |q|², in the mean d_k (footnote 4); scaled, 1. v·tanh(q + k) has d_k · E[v²] times what
    tanh(q + k) varies by with k, and E[v²] = 1/(3·d_k): a number without d_k.
    """
    if kind == "dot":
        return float(d_k)
    if kind == "scaled_dot":
        return 1.0
    nodes, shares = np.polynomial.hermite_e.hermegauss(80)  # of a normal distribution
    shares = shares / math.sqrt(2 * math.pi)
    bent = np.tanh(nodes[:, None] + nodes)  # of q down, of k across
    within = (bent**2) @ shares - (bent @ shares) ** 2
    return float(shares @ within / 3)


VERSIONS = ("unscaled", "as it is", "scaled twice")
"""What `heads` tells of each head: its scores times √d_k, as they are, and divided by √d_k."""


def heads(trace: Trace) -> pd.DataFrame:
    """The scores of a real model's heads, and what their softmax would be with another scale.

    A line each head and version of `VERSIONS`: "kind", "layer", "head", "version", "variance" of a
    row's scores (mean over rows), "largest", "entropy", "jacobian", "still" as in `measure`, here
    over the rows of this sentence with two keys or more. A model whose scores have no 1/√d_k is
    "unscaled" as it is; then the other two divide by √d_k once and twice.

    Args:
        trace: with the sites `hook_scores`.

    Raises:
        ValueError: if no scores were recorded.
    """
    root = math.sqrt(trace.config["d_model"] / trace.n_heads)
    scaled = trace.config.get("score", "scaled_dot") == "scaled_dot"
    factors = (root, 1.0, 1 / root) if scaled else (1.0, 1 / root, 1 / root**2)
    lines = []
    for kind, site in WEIGHTS.items():
        for layer in range(trace.n_layers):
            if (name := site.format(layer).replace("weights", "scores")) not in trace:
                continue
            scores = _allowed(trace[name].astype(np.float64), causal=kind == "decoder")
            for version, factor in zip(VERSIONS, factors, strict=True):
                check_cancelled()
                lines += [
                    {"kind": kind, "layer": layer, "head": head, "version": version, **figures}
                    for head, figures in enumerate(_figures(scores * factor))
                ]
    if not lines:
        raise ValueError("this trace was recorded without scores: ask for the sites hook_scores")
    return pd.DataFrame(lines)


def _allowed(
    scores: Float[np.ndarray, "heads query key"], causal: bool
) -> Float[np.ndarray, "heads rows key"]:
    """-∞ where the mask lets nobody look, for scores are recorded before it (section 3.2.3); only
    the rows with a choice."""
    if causal:
        future = np.triu(np.ones(scores.shape[1:], bool), k=1)
        scores = np.where(future, -np.inf, scores)
    return scores[:, np.isfinite(scores[0]).sum(axis=-1) > 1]


def _figures(scores: Float[np.ndarray, "heads query key"]) -> list[dict[str, float]]:
    weights = softmax(scores)
    norms = jacobian(weights)
    spread = np.nanvar(np.where(np.isfinite(scores), scores, np.nan), axis=-1, ddof=1)
    table = {
        "variance": spread.mean(axis=-1),
        "largest": weights.max(axis=-1).mean(axis=-1),
        "entropy": entropy(weights).mean(axis=-1),
        "jacobian": np.median(norms, axis=-1),
        "still": (norms < STILL).mean(axis=-1),
    }
    return [{name: float(of[head]) for name, of in table.items()} for head in range(len(scores))]
