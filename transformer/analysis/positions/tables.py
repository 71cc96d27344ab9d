"""The position vectors that a model holds, how large they are, and how like sinusoids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.inference import Trace
from transformer.model import Transformer

SIDES = ("source", "target")
STACKS = {"source": "encoder", "target": "decoder"}


def table(
    model: Transformer, side: str, length: int, start: int = 0
) -> Float[np.ndarray, "length d_model"]:
    """What the model adds at positions start … start + length − 1, sinusoidal, learned or zeros.

    Args:
        side: "source" or "target"; learned vectors differ between the two.

    Raises:
        ValueError: for another side, or past the last position that the model learned.
    """
    embed = getattr(model, _stack(side)).embed
    with torch.no_grad():
        found: Tensor = embed.positions(length, start)
    return np.array(found.detach().float().cpu().numpy())


def added(trace: Trace, side: str) -> pd.DataFrame:
    """How large a token's embedding is and how large what is added: a row for each position.

    Columns: position, token, embedding (‖E·√d_model‖, section 3.4), encoding (‖PE‖), cosine
    between the two (0 where one of them is 0), sum (norm of both together, what layer 0 reads).

    Raises:
        ValueError: for another side.
        KeyError: if hook_tokens and hook_positions of that side were not recorded.
    """
    stack = _stack(side)
    words = trace[f"{stack}.embed.hook_tokens"].astype(np.float64)
    places = trace[f"{stack}.embed.hook_positions"].astype(np.float64)
    long, far = np.linalg.norm(words, axis=1), np.linalg.norm(places, axis=1)
    product = long * far
    cosine = np.divide((words * places).sum(axis=1), product, np.zeros_like(product),
                       where=product > 0)  # fmt: skip
    return pd.DataFrame(
        {
            "position": range(len(words)),
            "token": trace.src_tokens if side == "source" else trace.tgt_tokens,
            "embedding": long,
            "encoding": far,
            "cosine": cosine,
            "sum": np.linalg.norm(words + places, axis=1),
        }
    )


@dataclass(frozen=True)
class Fit:
    """The nearest sinusoid of each dimension.

    Attributes:
        wavelength: of the best one, in positions.
        r2: share of the dimension's variance over the positions that it explains, 0 to 1.
    """

    wavelength: Float[np.ndarray, " d_model"]
    r2: Float[np.ndarray, " d_model"]


def sinusoid_fit(vectors: Float[np.ndarray, "length d_model"], steps: int = 200) -> Fit:
    """For each dimension the a·sin(ωp) + b·cos(ωp) + c nearest to it by least squares.

    ω is the best of `steps` wavelengths from 2 positions to 4 times the length. Four free numbers
    explain much of a few points, whatever they are: hold it against `noise_like(vectors)`. Raises
    ValueError for fewer than 6 positions, where there is nothing left to explain.
    """
    length, width = vectors.shape
    if length < 6:
        raise ValueError(f"a sinusoid is told from chance by 6 positions or more, not {length}")
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    whole = np.maximum((centred**2).sum(axis=0), np.finfo(float).tiny)
    places = np.arange(length)
    best, at = np.zeros(width), np.full(width, np.inf)
    for wavelength in np.geomspace(2, 4 * length, steps):
        angle = 2 * np.pi * places / wavelength
        waves = np.stack([np.sin(angle), np.cos(angle)], axis=1)
        u, sizes, _ = np.linalg.svd(waves - waves.mean(axis=0), full_matrices=False)
        basis = u[:, sizes > 1e-9 * sizes[0]]  # at 2 positions the sine is 0 everywhere
        explained = ((basis.T @ centred) ** 2).sum(axis=0) / whole
        better = explained > best
        best, at = np.where(better, explained, best), np.where(better, wavelength, at)
    return Fit(at, np.minimum(best, 1.0))


def noise_like(
    vectors: Float[np.ndarray, "length d_model"], seed: int = 1
) -> Float[np.ndarray, "length d_model"]:
    """Independent normal numbers in the same shape: what chance looks like to `sinusoid_fit`."""
    return np.random.default_rng(seed).normal(size=vectors.shape)


def _stack(side: str) -> str:
    if side not in STACKS:
        raise ValueError(f"side must be 'source' or 'target', not {side!r}")
    return STACKS[side]
