"""A price on blurred attention: how spread out the encoder's rows are, as a part of the loss.

A small model on little text can leave its encoder heads wide: nothing in the translation loss asks
them to choose. A small price on spread does, at little cost in quality (for sparser attention by
other means see Correia et al. 2019, "Adaptively Sparse Transformers"). It changes what the heads
look like, so a card of a model trained with it says so.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS


class Blur:
    """Collects the encoder's attention of one forward pass through hooks; gradients flow back."""

    def __init__(self, n_layers: int) -> None:
        self._rows: list[Tensor] = []
        names = [WEIGHTS["encoder"].format(layer) for layer in range(n_layers)]
        self.hooks = Hooks(dict.fromkeys(names, self._keep))

    def _keep(self, weights: Tensor, name: str) -> None:
        self._rows.append(blur(weights))

    def mean(self, real: Bool[Tensor, "batch src"]) -> Float[Tensor, ""]:
        """Over layers, heads and the queries that are `real` (no padding), 0 to 1."""
        rows = torch.stack(self._rows).float()  # (layer, batch, head, query)
        return rows.movedim(2, 0)[:, :, real].mean()


def blur(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, "batch heads query"]:
    """1 - Σ α² of each row: the chance that two keys drawn from it differ (Simpson 1949).

    0 for a row at rest on one key, 1 - 1/n for an even row of n.
    """
    found: Tensor = 1 - torch.linalg.vector_norm(weights, dim=-1).square()
    return found
