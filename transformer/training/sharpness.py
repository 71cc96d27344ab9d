"""Prices on attention, as parts of the loss: on rows that spread, on queries that look alike.

A small model on little text can leave its heads wide: nothing in the translation loss asks them to
choose. A small price on spread does, at little cost in quality (for sparser attention by other
means see Correia et al. 2019, "Adaptively Sparse Transformers"). Alone it is cheapest paid by heads
in which every query rests on the same key, an end mark or a full stop; a price on likeness sends
different queries to different keys. Both together at one price reward what a key tells of its
query: the sharpness of rows less that of their mean, Gini's index in place of the entropies of
mutual information. Neither says where to look, and both change what the heads look like: a card of
a model trained with them says so.
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
        src, tgt: which places are no padding.
        blur: the price of `spread`, in nats.
        likeness: the price of `likeness`, in nats.
    """

    def __init__(
        self,
        n_layers: int,
        src: Bool[Tensor, "batch src"],
        tgt: Bool[Tensor, "batch tgt"],
        *,
        blur: float,
        likeness: float,
    ) -> None:
        self._prices: dict[str, list[Tensor]] = {kind: [] for kind in WEIGHTS}
        kinds = {WEIGHTS[kind].format(n): kind for kind in WEIGHTS for n in range(n_layers)}

        def keep(weights: Tensor, name: str) -> None:
            queries, price = (src if kinds[name] == "encoder" else tgt), weights.new_zeros(())
            if blur:
                price = price + blur * spread(weights, queries)
            if likeness:
                price = price + likeness * alike(weights, queries)
            self._prices[kinds[name]].append(price)

        self.hooks = Hooks(dict.fromkeys(kinds, keep))

    def mean(self) -> Float[Tensor, ""]:
        """Over the heads of all layers, then over the three kinds; nats."""
        return torch.stack([torch.stack(each).mean() for each in self._prices.values()]).mean()


def spread(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """1 - Σ α² of a row: the chance that two keys drawn from it differ (Simpson 1949).

    0 for a row at rest on one key, 1 - 1/n for an even row of n. The mean over heads and all true
    `queries`.
    """
    rows = 1 - _squares(weights)
    return rows.movedim(1, 2)[queries].mean()


def alike(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """Σ ᾱ² of the mean row ᾱ: the chance that two queries drawn with replacement look at one key.

    1 where all queries rest on one key, 1/n where each of n rests on its own. The mean over heads
    and sentences, each over its true `queries`.
    """
    counts = queries.sum(-1).clamp(min=1)[:, None, None]
    mean = (weights * queries[:, None, :, None]).sum(2) / counts  # (batch, heads, key)
    return _squares(mean).mean()


def _squares(rows: Tensor) -> Tensor:
    """Σ α² of each, in float32 at least."""
    found: Tensor = torch.linalg.vector_norm(rows, dim=-1).square()
    return found.to(torch.promote_types(found.dtype, torch.float32))
