"""A price on blurred attention: how spread out its rows are, as a part of the loss.

A small model on little text can leave its heads wide: nothing in the translation loss asks them to
choose. A small price on spread does, at little cost in quality (for sparser attention by other
means see Correia et al. 2019, "Adaptively Sparse Transformers"). It changes what the heads look
like, so a card of a model trained with it says so.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS


class Blur:
    """Collects all attention of one forward pass through hooks; gradients flow back."""

    def __init__(self, n_layers: int) -> None:
        self._rows: dict[str, list[Tensor]] = {kind: [] for kind in WEIGHTS}
        kinds = {WEIGHTS[kind].format(n): kind for kind in WEIGHTS for n in range(n_layers)}

        def keep(weights: Tensor, name: str) -> None:
            self._rows[kinds[name]].append(blur(weights))

        self.hooks = Hooks(dict.fromkeys(kinds, keep))

    def mean(
        self, src: Bool[Tensor, "batch src"], tgt: Bool[Tensor, "batch tgt"]
    ) -> Float[Tensor, ""]:
        """Over layers, heads and the real queries of each kind, then over the kinds: 0 to 1.

        Args:
            src, tgt: which places are no padding.
        """
        means = []
        for kind, rows in self._rows.items():
            each = torch.stack(rows).float().movedim(2, 0)  # (head, layer, batch, query)
            means.append(each[:, :, src if kind == "encoder" else tgt].mean())
        return torch.stack(means).mean()


def blur(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, "batch heads query"]:
    """1 - Σ α² of each row: the chance that two keys drawn from it differ (Simpson 1949).

    0 for a row at rest on one key, 1 - 1/n for an even row of n.
    """
    found: Tensor = 1 - torch.linalg.vector_norm(weights, dim=-1).square()
    return found
