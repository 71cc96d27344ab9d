"""The position vectors that a model holds, how like sinusoids, and what it makes of word order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference import Trace, Translator
from transformer.model import Transformer

SIDES = ("source", "target")
STACKS = {"source": "encoder", "target": "decoder"}
ORDER_PAIR = ("The dog bites the man.", "The man bites the dog.")
"""Two sentences of the same tokens in another order, for models that read English."""


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


SITE = "encoder.embed.hook_positions"


@dataclass(frozen=True)
class Reordered:
    """Two sentences of the same pieces.

    Attributes:
        pieces: each piece once, in the order of the first sentence; of one that stands there
            several times, its first place in both.
        alike: for "with" and "without" positions, the cosine between each piece's vector in the
            encoder's output of the one sentence and of the other.
        apart: for both, the greatest difference of any number of those vectors.
        written: for both, the two translations.
    """

    pieces: tuple[str, ...]
    alike: dict[str, list[float]]
    apart: dict[str, float]
    written: dict[str, tuple[str, str]]


def no_positions(tensor: Tensor, _: str) -> Tensor:
    """Nothing is added to the source's words."""
    return torch.zeros_like(tensor)


def reordered(translator: Translator, first: str, second: str) -> Reordered:
    """Read both sentences by the whole model, and with nothing added for the source's places.
    Raises ValueError if they are not the same pieces in two orders, or as `translate` does."""
    ids = [translator.vocabulary.encode(text) for text in (first, second)]
    if sorted(ids[0]) != sorted(ids[1]):
        raise ValueError("The two sentences are not of the same pieces in another order.")
    pieces = list(dict.fromkeys(ids[0]))
    alike, apart, written = {}, {}, {}
    for name, hooks in (("with", None), ("without", Hooks({SITE: no_positions}))):
        told = [
            translator.translate(text, hooks=hooks, candidates=1).text for text in (first, second)
        ]
        written[name] = (told[0], told[1])
        vectors = [_vectors(translator, one, pieces, hooks) for one in ids]
        lengths = [np.linalg.norm(one, axis=-1) for one in vectors]
        cosines = (vectors[0] * vectors[1]).sum(axis=-1) / (lengths[0] * lengths[1])
        alike[name] = [float(value) for value in cosines]
        apart[name] = float(np.abs(vectors[0] - vectors[1]).max())
    return Reordered(tuple(translator.vocabulary.tokens(pieces)), alike, apart, written)


def _vectors(
    translator: Translator, ids: Sequence[int], pieces: Sequence[int], hooks: Hooks | None
) -> np.ndarray:
    """The encoder's output at the first place of each piece, (pieces, d_model)."""
    config = translator.model.config
    src = torch.tensor([[*ids, config.eos_id]], device=next(translator.model.parameters()).device)
    with torch.no_grad():
        memory = translator.model.encode(src, hooks=hooks)
    places = [list(ids).index(piece) for piece in pieces]
    return memory[0, places].double().cpu().numpy()
