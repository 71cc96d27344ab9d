"""One sentence in training: outputs shifted right, dropout and label smoothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from transformer.inference import Trace, Translator
from transformer.inference.trace import Array
from transformer.model import Transformer
from transformer.model.layers import AddAndNorm

N_MASKS = 256
"""Number of masks that `DropoutResult.mean_difference` averages over."""


@dataclass(frozen=True, eq=False)
class DropoutResult:
    """LayerNorm(x + Dropout(Sublayer(x))) at one position (section 5.4).

    Attributes:
        sublayer_output: (d_model,).
        mask: (d_model,), 0 where a number is dropped, else 1/(1 − p).
        normed, normed_dropped: (d_model,), the output of the LayerNorm without and with dropout.
        mean_difference: norm of the difference between `sublayer_output` and the mean over
            `N_MASKS` masks, as a share of the norm of `sublayer_output`.
    """

    sublayer_output: Array
    mask: Array
    normed: Array
    normed_dropped: Array
    mean_difference: float

    @property
    def dropped(self) -> Array:
        """The sublayer's output after dropout."""
        return np.asarray(self.sublayer_output * self.mask)

    @property
    def count(self) -> int:
        """Number of dropped values."""
        return int((self.mask == 0).sum())

    @property
    def cosine(self) -> float:
        """Cosine between the normed vectors with and without dropout."""
        length = np.linalg.norm(self.normed) * np.linalg.norm(self.normed_dropped)
        return float(self.normed @ self.normed_dropped / length)


def apply_dropout(
    model: Transformer, trace: Trace, sublayer: str, row: int, *, p: float, seed: int
) -> DropoutResult:
    """Draw one mask over a row of a sublayer's output, as a training step does.

    Args:
        trace: of this model, with the sublayer's output and the following sum.
        sublayer: "encoder.layers.0.ffn" or an attention.
        p: the probability of a zero, 0 to 0.99.
        seed: of the mask; each training step has another one.

    Raises:
        ValueError: for an invalid probability or row.
        KeyError: if the trace was recorded without them.
    """
    if not 0 <= p < 1:
        raise ValueError(f"dropout needs a probability from 0 to 0.99, not {p}")
    sublayer_output = torch.tensor(trace[f"{sublayer}.hook_output"], device="cpu")
    if not 0 <= row < len(sublayer_output):
        raise ValueError(f"there is no row {row}; the rows are 0 to {len(sublayer_output) - 1}")
    sublayer_output = sublayer_output[row]
    sums = torch.tensor(trace[f"{sublayer}_norm.hook_sum"], device="cpu")
    stream = sums[row] - sublayer_output
    generator = torch.Generator().manual_seed(seed)
    mask, *other_masks = (
        torch.rand(1 + N_MASKS, len(sublayer_output), generator=generator, device="cpu") >= p
    ) / (1 - p)
    mean = torch.stack(other_masks).mean(0)
    add_and_norm = model.get_submodule(f"{sublayer}_norm")
    assert isinstance(add_and_norm, AddAndNorm)
    device = add_and_norm.norm.weight.device
    with torch.no_grad():
        normed, normed_dropped = (
            add_and_norm.norm((stream + vector).to(device)).cpu()
            for vector in (sublayer_output, sublayer_output * mask)
        )
    return DropoutResult(
        sublayer_output=sublayer_output.double().numpy(),
        mask=mask.double().numpy(),
        normed=normed.double().numpy(),
        normed_dropped=normed_dropped.double().numpy(),
        mean_difference=float(
            (sublayer_output * mean - sublayer_output).norm()
            / sublayer_output.norm().clamp_min(1e-12)
        ),
    )


@dataclass(frozen=True, eq=False)
class SmoothingResult:
    """The smoothed target of one position, and the model's probabilities.

    Attributes:
        target: (vocab,), 1 − ε + ε/V at the correct token and ε/V at every other.
        probabilities: (vocab,), the model's softmax.
        gold: id of the correct token.
        smoothing: ε.
    """

    target: Array
    probabilities: Array
    gold: int
    smoothing: float

    @property
    def plain_loss(self) -> float:
        """−ln of the correct token's probability, nats."""
        return float(-np.log(self.probabilities[self.gold]))

    @property
    def loss(self) -> float:
        """−Σ target · ln probability, nats: the loss that training minimizes."""
        return float(-(self.target * np.log(self.probabilities)).sum())

    @property
    def min_loss(self) -> float:
        """The minimum of the loss, where the model predicts the target itself: its entropy,
        nats."""
        positive = self.target[self.target > 0]
        return float(-(positive * np.log(positive)).sum())

    @property
    def confident_loss(self) -> float:
        """The loss of a model that gives the correct token a probability of 1 − 10⁻⁶ and the rest
        equally to all others."""
        other_probability = 1e-6 / (len(self.probabilities) - 1)
        log = np.full(len(self.probabilities), np.log(other_probability))
        log[self.gold] = np.log1p(-1e-6)
        return float(-(self.target * log).sum())


def smooth_target(trace: Trace, row: int, *, smoothing: float) -> SmoothingResult:
    """Return the target of one decoder position with ε = `smoothing` (Szegedy et al. 2016).

    The rule is that of `training.loss`: ε is spread over the whole vocabulary, including the
    correct token.

    Raises:
        ValueError: for an invalid ε or row.
        KeyError: if the trace was recorded without logits.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"label smoothing needs a number from 0 to 0.99, not {smoothing}")
    logits = torch.tensor(trace["hook_logits"], device="cpu").double()
    if not 0 <= row < len(logits):
        raise ValueError(f"there is no row {row}; the rows are 0 to {len(logits) - 1}")
    probabilities = functional.softmax(logits[row], dim=-1).clamp_min(1e-300).numpy()
    gold = trace.predicted_ids[row]
    target = np.full(len(probabilities), smoothing / len(probabilities))
    target[gold] += 1 - smoothing
    return SmoothingResult(
        target=target, probabilities=probabilities, gold=gold, smoothing=smoothing
    )


@dataclass(frozen=True, eq=False)
class ShiftedTargets:
    """One pair in training: outputs shifted right by one (sections 3 and 3.1).

    Attributes:
        source: the encoder's input tokens.
        table: a row for each step t, from 1: "reads" (the decoder's input so far, a tuple that
            begins with `<s>`), "target" (the token to predict), "probability" (of the target),
            "loss" (−ln of it, nats), "guess" (the most probable token) and "guess_probability".
        total, mean: of the losses, nats; the mean is what training reports without smoothing.
    """

    source: tuple[str, ...]
    table: pd.DataFrame
    total: float
    mean: float


def shifted_targets(
    translator: Translator, source: str, target: str | Sequence[int]
) -> ShiftedTargets:
    """Compute all steps of one pair at once, as in training: the input is the target (teacher
    forcing).

    Args:
        target: text, or ids.

    Raises:
        ValueError: for an empty or too long source or target.
    """
    trace = translator.trace(source, target, names=["hook_logits"])
    log_p = torch.tensor(trace["hook_logits"], device="cpu").double().log_softmax(-1).numpy()
    rows, guesses = np.arange(len(log_p)), log_p.argmax(axis=1)
    losses = -log_p[rows, list(trace.predicted_ids)]
    table = pd.DataFrame(
        {
            "reads": [trace.tgt_tokens[: t + 1] for t in rows],
            "target": trace.predicted_tokens,
            "probability": np.exp(-losses),
            "loss": losses,
            "guess": translator.vocabulary.tokens(guesses),
            "guess_probability": np.exp(log_p[rows, guesses]),
        },
        index=pd.RangeIndex(1, len(rows) + 1, name="t"),
    )
    return ShiftedTargets(trace.src_tokens, table, float(losses.sum()), float(losses.mean()))
