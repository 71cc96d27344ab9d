"""The same words in another order, with positions and without: section 3.5's reason for them.

Without positions an encoder is permutation-equivariant: nothing in it but the positions says where
a word stands, so a word's vector is the same wherever it stands among the same words, and attention
to the encoder's output sees the same keys and values in another order, which no sum over them can
tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference import Translator

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
