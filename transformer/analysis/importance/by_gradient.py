"""How much each head matters to a corpus, by the gradient of its gate (Michel et al. 2019).

    gradient_importance(translator, corpus).to_frame()
    both = gradient_importances(translator, corpus)     # {"sentence": …, "position": …}

Two readings of one formula, from the same pass. "sentence" is equation 2 of Michel et al. 2019,
section 4.1: a gate a head, the absolute value of its slope for each sentence. "position" is what
their program computes: a gate a head and position, the absolute value of each of these slopes.
What a head does for one word of a sentence and against another cancels in the first and adds up
in the second.

What really happens without a head is in `ablation`: the gradient is a guess at it, from one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Progress,
    batched,
    encoded,
    losses,
    silent,
)
from transformer.analysis.interventions.switching import KINDS, Head, site
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.model import Transformer

By = Literal["sentence", "position"]
BY: tuple[By, ...] = ("sentence", "position")


@dataclass(frozen=True, eq=False)
class Importance:
    """A number from 0 for every head, by kind as (layers, heads): more is more important."""

    values: Mapping[str, Float[np.ndarray, "layers heads"]]

    def normalised(self) -> Importance:
        """Each layer's heads divided by the root of the sum of their squares.

        Gradients grow from layer to layer, which says nothing of the heads; Michel et al. 2019,
        section 4.1, compare them so, after Molchanov et al. 2017. A layer of zeros stays one.
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
    translator: Translator, corpus: Corpus, *, by: By = "sentence", progress: Progress = silent
) -> Importance:
    """One of `gradient_importances`, by the equation or by the program."""
    return gradient_importances(translator, corpus, progress=progress)[by]


def gradient_importances(
    translator: Translator, corpus: Corpus, *, progress: Progress = silent
) -> dict[By, Importance]:
    """Both readings of I_h = E_x |∂L(x)/∂ξ_h|, ξ being gates of 1 (Michel et al. 2019, eq. 2).

    "sentence": L(x) is the loss of a sentence in nats a token, so that long sentences count no more
    than short ones; the mean is over sentences. "position": L(x) is the loss of a sentence in nats,
    ξ_h,t gates what the head writes at position t, and the mean of |∂L(x)/∂ξ_h,t| is over all
    positions of the corpus: in their program the gradient of a head's output times the output,
    summed within a position and no further (github.com/pmichel31415, as copies of it have it; an
    early one multiplies the two sums, over the dimensions, instead of summing products).

    Raises ValueError naming the sentence, for a text that is too long.
    """
    done = 0
    sums: dict[By, dict[str, npt.NDArray[np.float64]]] = {by: {} for by in BY}
    positions: dict[str, int] = dict.fromkeys(KINDS, 0)
    for batch in batched(translator, encoded(translator, corpus, progress)):
        progress(done / len(corpus), "measuring")
        for name, slopes in position_slopes(translator.model, batch).items():
            whole = slopes.sum(dim=-1) / batch.n_tgt[:, None]
            for by, each in zip(BY, (whole.abs(), slopes.abs().sum(dim=-1)), strict=True):
                found = each.sum(dim=0).double().cpu().numpy()
                sums[by][name] = found + sums[by].get(name, 0.0)
        for kind in KINDS:
            n_query = batch.n_src if kind == "encoder" else batch.n_tgt
            positions[kind] += int(n_query.sum())
        done += len(batch.numbers)
    progress(1.0, "measured")
    layers = range(translator.model.config.n_layers)

    def stacked(by: By, kind: str) -> Float[np.ndarray, "layers heads"]:
        count = len(corpus) if by == "sentence" else positions[kind]
        return np.stack([sums[by][site(kind, layer, "heads")] for layer in layers]) / count

    return {by: Importance({kind: stacked(by, kind) for kind in KINDS}) for by in BY}


def position_slopes(
    model: Transformer, batch: NumberedBatch
) -> dict[str, Float[Tensor, "rows heads query"]]:
    """∂L(x)/∂ξ_h,t of every sentence's loss in nats at ξ = 1, by the name of the heads' hook.

    Each sentence and position has a gate of its own, so one backward pass gives the slope for
    each; summed over t they are the slope of one gate for the whole sentence. Padding has slope 0:
    no loss depends on it.
    """
    like, n_heads = model.embedding.weight, model.config.n_heads
    gates = {}
    for kind in KINDS:
        n_query = (batch.src if kind == "encoder" else batch.tgt_in).shape[1]
        for layer in range(model.config.n_layers):
            gate = like.new_ones(len(batch.numbers), n_heads, n_query, 1)
            gates[site(kind, layer, "heads")] = gate.requires_grad_()
    with torch.enable_grad():
        each = losses(model, batch, Hooks({name: _times(gate) for name, gate in gates.items()}))
        # Gradients of the gates alone: nothing is left on the weights, which others use.
        slopes = torch.autograd.grad(each.sum(), list(gates.values()))
    return {name: slope[..., 0] for name, slope in zip(gates, slopes, strict=True)}


def _times(gate: Tensor) -> HookFn:
    return lambda outputs, _: outputs * gate
