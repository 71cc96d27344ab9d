"""A model's position vectors, how close they are to sinusoids, and its sensitivity to word
order."""

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
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer

SIDES = ("source", "target")
STACKS: dict[str, AttentionKind] = {"source": "encoder", "target": "decoder"}
ORDER_PAIR = ("The dog follows the man.", "The man follows the dog.")
"""Two sentences with the same tokens in another order, for models that read English."""


def table(
    model: Transformer, side: str, length: int, start: int = 0
) -> Float[np.ndarray, "length d_model"]:
    """Return the position vectors start … start + length − 1: sinusoidal, learned or zeros.

    Args:
        side: "source" or "target"; learned vectors differ between the two.

    Raises:
        ValueError: for another side, or beyond the last position that the model learned.
    """
    embed = getattr(model, _stack(side)).embed
    with torch.no_grad():
        vectors: Tensor = embed.positions(length, start)
    return np.array(vectors.detach().float().cpu().numpy())


def embedding_norms(trace: Trace, side: str) -> pd.DataFrame:
    """Return the norms of token embeddings and position vectors: a row for each position.

    Columns: position, token, embedding (‖E·√d_model‖, section 3.4), encoding (‖PE‖), cosine between
    the two (0 where one of them is 0), sum (norm of their sum, the input of layer 0).

    Raises:
        ValueError: for another side.
        KeyError: if hook_tokens and hook_positions of that side were not recorded.
    """
    stack = _stack(side)
    embeddings = trace[f"{stack}.embed.hook_tokens"].astype(np.float64)
    positions = trace[f"{stack}.embed.hook_positions"].astype(np.float64)
    token_norms, position_norms = (
        np.linalg.norm(embeddings, axis=1),
        np.linalg.norm(positions, axis=1),
    )
    product = token_norms * position_norms
    cosine = np.divide((embeddings * positions).sum(axis=1), product, np.zeros_like(product),
                       where=product > 0)  # fmt: skip
    return pd.DataFrame(
        {
            "position": range(len(embeddings)),
            "token": trace.src_tokens if side == "source" else trace.tgt_tokens,
            "embedding": token_norms,
            "encoding": position_norms,
            "cosine": cosine,
            "sum": np.linalg.norm(embeddings + positions, axis=1),
        }
    )


def _stack(side: str) -> str:
    if side not in STACKS:
        raise ValueError(f"side must be 'source' or 'target', not {side!r}")
    return STACKS[side]


POSITION_SITE = "encoder.embed.hook_positions"


@dataclass(frozen=True)
class ReorderingEffect:
    """Two sentences with the same pieces in another order.

    Attributes:
        max_differences: by "with" and "without" (position vectors), the largest absolute difference
            between the encoder outputs of the same piece in the two sentences.
        translations: by the same keys, the translations of the two sentences.
    """

    max_differences: dict[str, float]
    translations: dict[str, tuple[str, str]]


def no_positions(tensor: Tensor, _: str) -> Tensor:
    """Replace the source's position vectors by zeros."""
    return torch.zeros_like(tensor)


def reordering_effect(translator: Translator, first: str, second: str) -> ReorderingEffect:
    """Encode and translate both sentences by the full model, and without source positions.

    Raises:
        ValueError: if they are not the same pieces in two orders, or as `translate` does.
    """
    ids = [translator.vocabulary.encode(text) for text in (first, second)]
    if sorted(ids[0]) != sorted(ids[1]):
        raise ValueError("The two sentences must have the same tokens in another order.")
    pieces = list(dict.fromkeys(ids[0]))
    max_differences, translations = {}, {}
    for name, hooks in (("with", None), ("without", Hooks({POSITION_SITE: no_positions}))):
        texts = [
            translator.translate(text, hooks=hooks, candidates=1).text for text in (first, second)
        ]
        translations[name] = (texts[0], texts[1])
        vectors = [_vectors(translator, side, pieces, hooks) for side in ids]
        max_differences[name] = float(np.abs(vectors[0] - vectors[1]).max())
    return ReorderingEffect(max_differences, translations)


def _vectors(
    translator: Translator, ids: Sequence[int], pieces: Sequence[int], hooks: Hooks | None
) -> np.ndarray:
    """Return the encoder's output at the first occurrence of each piece, (pieces, d_model)."""
    config = translator.model.config
    src = torch.tensor([[*ids, config.eos_id]], device=next(translator.model.parameters()).device)
    with torch.no_grad():
        memory = translator.model.encode(src, hooks=hooks)
    first_positions = [list(ids).index(piece) for piece in pieces]
    return memory[0, first_positions].cpu().double().numpy()
