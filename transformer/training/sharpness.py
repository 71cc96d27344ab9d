"""Prices on attention, as parts of the loss: on rows that spread, on heads that look alike.

A small model on little text can leave its heads wide: nothing in the translation loss asks them to
choose. A small price on spread does, at little cost in quality (for sparser attention by other
means see Correia et al. 2019, "Adaptively Sparse Transformers"). Sharp heads then like to rest,
all on one end mark; a price on overlap lets one head of a layer do so and sends the others
elsewhere (Li et al. 2018, "Multi-Head Attention with Disagreement Regularization": of their three
terms the one on attended positions). Neither says where to look. Both change what the heads look
like, so a card of a model trained with them says so.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS


class AttentionPrice:
    """Sees all attention of one forward pass through hooks; gradients flow back.

    Args:
        n_layers: of the encoder and of the decoder.
        blur: the price of spread, in nats for a row spread without end.
        overlap: the price of heads of one layer that look alike, in nats for heads all at rest on
            one key.
    """

    def __init__(self, n_layers: int, blur: float, overlap: float) -> None:
        self._rows: dict[str, list[Tensor]] = {kind: [] for kind in WEIGHTS}
        kinds = {WEIGHTS[kind].format(n): kind for kind in WEIGHTS for n in range(n_layers)}

        def keep(weights: Tensor, name: str) -> None:
            price = torch.zeros(())
            if blur:
                price = price + blur * spread(weights).mean(1)
            if overlap:
                price = price + overlap * likeness(weights)
            self._rows[kinds[name]].append(price)

        self.hooks = Hooks(dict.fromkeys(kinds, keep))

    def mean(
        self, src: Bool[Tensor, "batch src"], tgt: Bool[Tensor, "batch tgt"]
    ) -> Float[Tensor, ""]:
        """Over heads, layers and the real queries of each kind, then over the kinds, in nats.

        Args:
            src, tgt: which places are no padding.
        """
        means = []
        for kind, rows in self._rows.items():
            each = torch.stack(rows).float().movedim(0, 2)  # (batch, query, layer)
            means.append(each[src if kind == "encoder" else tgt].mean())
        return torch.stack(means).mean()


def spread(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, "batch heads query"]:
    """1 - Σ α² of each row: the chance that two keys drawn from it differ (Simpson 1949).

    0 for a row at rest on one key, 1 - 1/n for an even row of n.
    """
    found: Tensor = 1 - torch.linalg.vector_norm(weights, dim=-1).square()
    return found


def likeness(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, "batch query"]:
    """The mean of Σ α·α' over all pairs of different heads: that two draw the same key.

    1 where all heads rest on one key, 0 where no key has weight in two of them; 0 for one head.
    """
    n_heads = weights.shape[1]
    if n_heads == 1:
        return weights.new_zeros(weights.shape[0], weights.shape[2])
    together = torch.linalg.vector_norm(weights.sum(1), dim=-1).square()
    alone = torch.linalg.vector_norm(weights, dim=-1).square().sum(1)
    found: Tensor = (together - alone) / (n_heads * (n_heads - 1))
    return found
