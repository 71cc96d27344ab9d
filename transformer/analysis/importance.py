"""How much each head matters to a corpus, by the gradient of its gate (Michel et al. 2019).

    gradient_importance(translator, corpus).to_frame()

What really happens without a head is in `ablation`: the gradient is a guess at it, from one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.gates import KINDS, Head, site
from transformer.analysis.losses import batched, losses
from transformer.analysis.passes import Batch, Progress, encoded, silent
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.model import Transformer


@dataclass(frozen=True, eq=False)
class Importance:
    """A number from 0 for every head, by kind as (layers, heads): more is more important."""

    values: Mapping[str, Float[np.ndarray, "layers heads"]]

    def normalised(self) -> Importance:
        """Each layer's heads divided by the root of the sum of their squares.

        Gradients grow from layer to layer, which says nothing of the heads; Michel et al. 2019,
        section 2.4, compare them so, after Molchanov et al. 2017. A layer of zeros stays one.
        """
        made = {}
        for kind, values in self.values.items():
            length = np.linalg.norm(values, axis=1, keepdims=True)
            made[kind] = values / np.where(length > 0, length, 1)
        return Importance(made)

    def order(self) -> list[Head]:
        """All heads, the least important first."""
        table = self.to_frame().sort_values("importance", kind="stable")
        return list(table[["kind", "layer", "head"]].itertuples(index=False, name=None))

    def to_frame(self) -> pd.DataFrame:
        """A line a head: kind, layer, head, importance."""
        rows = [
            (kind, layer, head, float(value))
            for kind, values in self.values.items()
            for (layer, head), value in np.ndenumerate(values)
        ]
        return pd.DataFrame(rows, columns=["kind", "layer", "head", "importance"])


def gradient_importance(
    translator: Translator, corpus: Corpus, *, progress: Progress = silent
) -> Importance:
    """I_h = E_x |∂L(x)/∂ξ_h|, ξ_h being a gate of 1 on head h (Michel et al. 2019, eq. 4).

    L(x) is the loss of a sentence in nats a token, so that long sentences count no more than
    short ones. The absolute value is taken for each sentence before the mean: what a head does
    for one sentence and against another does not cancel.

    Args:
        progress: as in `passes`; what it raises ends the work.

    Raises:
        ValueError: naming the sentence, for a text that is too long.
    """
    done = 0
    sums: dict[str, npt.NDArray[np.float64]] = {}
    parts = batched(translator, encoded(translator, corpus, progress))
    for batch in parts:
        progress(done / len(corpus), "measuring")
        for name, slopes in gate_slopes(translator.model, batch).items():
            found = slopes.abs().sum(dim=0).double().cpu().numpy()
            sums[name] = found + sums.get(name, 0.0)
        done += len(batch.numbers)
    progress(1.0, "measured")
    layers = range(translator.model.config.n_layers)
    return Importance(
        {
            kind: np.stack([sums[site(kind, layer, "heads")] for layer in layers]) / len(corpus)
            for kind in KINDS
        }
    )


def gate_slopes(model: Transformer, batch: Batch) -> dict[str, Float[Tensor, "rows heads"]]:
    """∂L(x)/∂ξ_h of every sentence at ξ = 1, by the name of the heads' hook.

    Each sentence has gates of its own, so one backward pass gives the slope for each.
    """
    layers = range(model.config.n_layers)
    names = [site(kind, layer, "heads") for kind in KINDS for layer in layers]
    one = model.embedding.weight.new_ones(len(batch.numbers), model.config.n_heads, 1, 1)
    gates = {name: one.clone().requires_grad_() for name in names}
    with torch.enable_grad():
        each = losses(model, batch, Hooks({name: _times(gate) for name, gate in gates.items()}))
        # Gradients of the gates alone: nothing is left on the weights, which others use.
        slopes = torch.autograd.grad((each / batch.n_tgt).sum(), list(gates.values()))
    return {name: slope[..., 0, 0] for name, slope in zip(names, slopes, strict=True)}


def _times(gate: Tensor) -> HookFn:
    return lambda outputs, _: outputs * gate
