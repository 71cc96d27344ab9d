"""Importance of heads on a corpus: the gradient of each head's gate (Michel et al. 2019).

    variants = gradient_importances(translator, corpus)  # {"sentence": …, "position": …}
    variants["sentence"].to_frame()

There are two variants, computed in the same pass. "sentence" is equation 2 of Michel et al. 2019,
section 4.1: one gate per head, and the absolute value of its gradient for each sentence. "position"
is what the authors' program computes: one gate per head and position, and the absolute value of
each of these gradients. If a head helps one word of a sentence and harms another, the two effects
cancel in the first variant and add up in the second.

`ablation` measures the actual change without a head; the gradient is an estimate from one pass.
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
    batch_list,
    encode_corpus,
    losses,
    no_progress,
)
from transformer.analysis.interventions.switching import site
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.measures.kinds import KINDS, AttentionKind, Head
from transformer.model import Transformer

GateUnit = Literal["sentence", "position"]
GATE_UNITS: tuple[GateUnit, ...] = ("sentence", "position")


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of every head, at least 0, by kind as (layers, heads)."""

    values: Mapping[str, Float[np.ndarray, "layers heads"]]

    def normalised(self) -> Importance:
        """Return the importance of each layer's heads divided by the root of the sum of their
        squares.

        Gradients grow from layer to layer, which says nothing about the heads; Michel et al. 2019,
        section 4.1, normalize like this, after Molchanov et al. 2017. A layer of zeros stays zero.
        """
        scaled = {}
        for kind, values in self.values.items():
            length = np.linalg.norm(values, axis=1, keepdims=True)
            scaled[kind] = values / np.where(length > 0, length, 1)
        return Importance(scaled)

    def order(self) -> list[Head]:
        """Return all heads, the least important first."""
        table = self.to_frame().sort_values("importance", kind="stable")
        return list(table[["kind", "layer", "head"]].itertuples(index=False, name=None))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each head: kind, layer, head, importance."""
        rows = [
            (kind, layer, head, float(value))
            for kind, values in self.values.items()
            for (layer, head), value in np.ndenumerate(values)
        ]
        return pd.DataFrame(rows, columns=["kind", "layer", "head", "importance"])


def gradient_importances(
    translator: Translator, corpus: Corpus, *, progress: Progress = no_progress
) -> dict[GateUnit, Importance]:
    """Return both variants of I_h = E_x |∂L(x)/∂ξ_h| at ξ = 1 (Michel et al. 2019, equation 2).

    "sentence": L(x) is the loss of a sentence in nats per token, so that every sentence has the
    same weight; the mean is over sentences. "position": L(x) is the loss of a sentence in nats,
    ξ_h,t is a gate on the head's output at position t, and the mean of |∂L(x)/∂ξ_h,t| is over all
    positions of the corpus. ∂L/∂ξ_h,t is the dot product of the head's output at t and its
    gradient, as in the authors' program (github.com/pmichel31415, known from copies).

    Raises ValueError, naming the sentence, for a text that is too long.
    """
    done = 0
    sums: dict[GateUnit, dict[str, npt.NDArray[np.float64]]] = {unit: {} for unit in GATE_UNITS}
    positions: dict[str, int] = dict.fromkeys(KINDS, 0)
    for batch in batch_list(translator, encode_corpus(translator, corpus, progress)):
        progress(done / len(corpus), "measuring")
        for name, gradients in position_gradients(translator.model, batch).items():
            sentence_gradients = gradients.sum(dim=-1) / batch.n_tgt[:, None]
            for unit, magnitudes in zip(
                GATE_UNITS, (sentence_gradients.abs(), gradients.abs().sum(dim=-1)), strict=True
            ):
                totals = magnitudes.sum(dim=0).cpu().double().numpy()
                sums[unit][name] = totals + sums[unit].get(name, 0.0)
        for kind in KINDS:
            n_query = batch.n_src if kind == "encoder" else batch.n_tgt
            positions[kind] += int(n_query.sum())
        done += len(batch.numbers)
    progress(1.0, "measured")
    layers = range(translator.model.config.n_layers)

    def stacked(unit: GateUnit, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
        count = len(corpus) if unit == "sentence" else positions[kind]
        return np.stack([sums[unit][site(kind, layer, "heads")] for layer in layers]) / count

    return {unit: Importance({kind: stacked(unit, kind) for kind in KINDS}) for unit in GATE_UNITS}


def position_gradients(
    model: Transformer, batch: NumberedBatch
) -> dict[str, Float[Tensor, "rows heads query"]]:
    """Return ∂L(x)/∂ξ_h,t of every sentence's loss in nats at ξ = 1, by hook name.

    Each sentence and position has its own gate, so one backward pass gives all gradients; summed
    over t they are the gradient of one gate for the whole sentence. Padding has gradient 0, because
    no loss depends on it.
    """
    weight, n_heads = model.embedding.weight, model.config.n_heads
    gates = {}
    for kind in KINDS:
        n_query = (batch.src if kind == "encoder" else batch.tgt_in).shape[1]
        for layer in range(model.config.n_layers):
            gate = weight.new_ones(len(batch.numbers), n_heads, n_query, 1)
            gates[site(kind, layer, "heads")] = gate.requires_grad_()
    with torch.enable_grad():
        sentence_losses = losses(
            model, batch, Hooks({name: _scaling_hook(gate) for name, gate in gates.items()})
        )
        # Gradients of the gates only: the weights are shared and must not get a .grad.
        gradients = torch.autograd.grad(sentence_losses.sum(), list(gates.values()))
    return {name: gradient[..., 0] for name, gradient in zip(gates, gradients, strict=True)}


def _scaling_hook(gate: Tensor) -> HookFn:
    return lambda outputs, _: outputs * gate
