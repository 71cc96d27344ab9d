"""Lines of notes that differ from the paper's in a letter: what the model would do by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from transformer.inference import Trace
from transformer.inference.trace import Array
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention


@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """An encoder layer whose keys are made with W^Q, beside the layer as it is.

    Attributes:
        right, wrong: weights (n_heads, query, key), by x W^K and by x W^Q.
        right_lopsided, wrong_lopsided: the greatest difference between the score of two places
            and that of the same two the other way round.
    """

    right: Array
    wrong: Array
    right_lopsided: float
    wrong_lopsided: float

    @property
    def moved(self) -> float:
        """Mean over heads and rows of the weight that lies on other keys than it should."""
        return float(np.abs(self.right - self.wrong).sum(-1).mean() / 2)

    @property
    def own_place(self) -> tuple[float, float]:
        """Mean weight of a place on itself, right and wrong."""
        right, wrong = (
            float(np.diagonal(weights, axis1=1, axis2=2).mean())
            for weights in (self.right, self.wrong)
        )
        return right, wrong


def keys_by_the_query_matrix(model: Transformer, trace: Trace, layer: int) -> SharedMatrix:
    """head_i = Attention(Q W_i^Q, K W_i^Q, V W_i^V), where section 3.2.2 has K W_i^K.

    In self-attention Q and K are the same rows, so every key becomes its own query: the scores of
    two places are then the same both ways, whatever was learned.

    Args:
        trace: of this model, with queries and scores of the encoder's layer.

    Raises:
        KeyError: if they were not recorded.
    """
    site = f"encoder.layers.{layer}.self_attn."
    query = torch.tensor(trace[f"{site}hook_query"], device=model.embedding.weight.device)[None]
    attention: MultiHeadAttention = model.get_submodule(site[:-1])  # type: ignore[assignment]
    with torch.no_grad():
        wrong = attention.score(query, query)[0].cpu().double()
    right = torch.tensor(trace[f"{site}hook_scores"]).double()
    return SharedMatrix(
        right=right.softmax(-1).numpy(),
        wrong=wrong.softmax(-1).numpy(),
        right_lopsided=_lopsided(right),
        wrong_lopsided=_lopsided(wrong),
    )


def _lopsided(scores: torch.Tensor) -> float:
    return float((scores - scores.transpose(-1, -2)).abs().max())
