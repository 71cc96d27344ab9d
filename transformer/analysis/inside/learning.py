"""What training makes of one sentence: outputs shifted right, dropout and label smoothing."""

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

MANY = 256
"""Masks that `Dropped.mean_apart` is a mean over."""


@dataclass(frozen=True, eq=False)
class Dropped:
    """LayerNorm(x + Dropout(Sublayer(x))) at one position (section 5.4).

    Attributes:
        stream: (d_model,), x: what went into the sublayer, and goes around it.
        said: (d_model,), what the sublayer found.
        mask: (d_model,), 0 where a number is dropped, else 1/(1 − p).
        normed, normed_dropped: (d_model,), what the LayerNorm hands on, without and with dropout.
        probability: p.
        mean_apart: length of the difference between `said` and the mean of `MANY` dropped ones,
            as a share of the length of `said`.
    """

    stream: Array
    said: Array
    mask: Array
    normed: Array
    normed_dropped: Array
    probability: float
    mean_apart: float

    @property
    def dropped(self) -> Array:
        """The sublayer's row, as training adds it."""
        return np.asarray(self.said * self.mask)

    @property
    def count(self) -> int:
        """Numbers that are 0 in it."""
        return int((self.mask == 0).sum())

    @property
    def turned(self) -> float:
        """Cosine between what is handed on with and without dropout."""
        length = np.linalg.norm(self.normed) * np.linalg.norm(self.normed_dropped)
        return float(self.normed @ self.normed_dropped / length)


def dropped(
    model: Transformer, trace: Trace, sublayer: str, row: int, *, p: float, seed: int
) -> Dropped:
    """Draw one mask over a row of a sublayer's output, as a training step does.

    Args:
        trace: of this model, with the sublayer's output and the sum behind it.
        sublayer: "encoder.layers.0.ffn" or an attention.
        p: the probability of a zero, 0 to 0.99.
        seed: of the mask; another one is another training step.

    Raises:
        ValueError: for a probability or a row that cannot be.
        KeyError: if the trace was recorded without them.
    """
    if not 0 <= p < 1:
        raise ValueError(f"dropout needs a probability from 0 to 0.99, not {p}")
    said = torch.tensor(trace[f"{sublayer}.hook_output"])
    if not 0 <= row < len(said):
        raise ValueError(f"there is no row {row}; the rows are 0 to {len(said) - 1}")
    said = said[row]
    stream = torch.tensor(trace[f"{sublayer}_norm.hook_sum"])[row] - said
    generator = torch.Generator().manual_seed(seed)
    mask, *more = (torch.rand(1 + MANY, len(said), generator=generator) >= p) / (1 - p)
    mean = torch.stack(more).mean(0)
    after = model.get_submodule(f"{sublayer}_norm")
    assert isinstance(after, AddAndNorm)
    device = after.norm.weight.device
    with torch.no_grad():
        normed, normed_dropped = (
            after.norm((stream + one).to(device)).cpu() for one in (said, said * mask)
        )
    return Dropped(
        stream=stream.double().numpy(),
        said=said.double().numpy(),
        mask=mask.double().numpy(),
        normed=normed.double().numpy(),
        normed_dropped=normed_dropped.double().numpy(),
        probability=p,
        mean_apart=float((said * mean - said).norm() / said.norm().clamp_min(1e-12)),
    )


@dataclass(frozen=True, eq=False)
class Smoothed:
    """One target of one position, smoothed, beside what the model says.

    Attributes:
        target: (vocab,), 1 − ε + ε/V at the right token and ε/V at every other.
        said: (vocab,), the model's softmax.
        gold: id of the right token.
        smoothing: ε.
    """

    target: Array
    said: Array
    gold: int
    smoothing: float

    @property
    def plain_loss(self) -> float:
        """−ln of the right token's probability, nats."""
        return float(-np.log(self.said[self.gold]))

    @property
    def loss(self) -> float:
        """−Σ target · ln said, nats: what training makes small."""
        return float(-(self.target * np.log(self.said)).sum())

    @property
    def least(self) -> float:
        """The least it can be, where the model says the target itself: its entropy, nats."""
        there = self.target[self.target > 0]
        return float(-(there * np.log(there)).sum())

    @property
    def sure(self) -> float:
        """The loss of a model that gives the right token all but a millionth, the rest evenly."""
        rest = 1e-6 / (len(self.said) - 1)
        log = np.full(len(self.said), np.log(rest))
        log[self.gold] = np.log1p(-1e-6)
        return float(-(self.target * log).sum())


def smoothed(trace: Trace, row: int, *, smoothing: float) -> Smoothed:
    """The target of one decoder position with ε = `smoothing` (Szegedy et al. 2016).

    The rule is that of `training.loss`: ε is spread over the whole vocabulary, the right token
    among it.

    Raises:
        ValueError: for an ε or a row that cannot be.
        KeyError: if the trace was recorded without logits.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"label smoothing needs a number from 0 to 0.99, not {smoothing}")
    logits = torch.tensor(trace["hook_logits"]).double()
    if not 0 <= row < len(logits):
        raise ValueError(f"there is no row {row}; the rows are 0 to {len(logits) - 1}")
    said = functional.softmax(logits[row], dim=-1).clamp_min(1e-300).numpy()
    gold = trace.predicted_ids[row]
    target = np.full(len(said), smoothing / len(said))
    target[gold] += 1 - smoothing
    return Smoothed(target=target, said=said, gold=gold, smoothing=smoothing)


@dataclass(frozen=True, eq=False)
class Shifted:
    """One pair as training sees it: outputs shifted right by one (sections 3 and 3.1).

    Attributes:
        source: the tokens the encoder reads.
        table: a row a step t, from 1: "reads" (the decoder's input so far, a tuple that begins
            with `<s>`), "target" (the token it should say), "probability" (that it gives it),
            "loss" (−ln of it, nats), "guess" (what it would say) and "guess_probability".
        total, mean: of the losses, nats; the mean is what training reports without smoothing.
    """

    source: tuple[str, ...]
    table: pd.DataFrame
    total: float
    mean: float


def shifted(translator: Translator, source: str, target: str | Sequence[int]) -> Shifted:
    """All steps of one pair at once, as in training: the right tokens go in, whatever it says.

    Args:
        target: text, or ids.

    Raises:
        ValueError: for an empty or too long source or target.
    """
    trace = translator.trace(source, target, names=["hook_logits"])
    log_p = torch.tensor(trace["hook_logits"]).double().log_softmax(-1).numpy()
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
    return Shifted(trace.src_tokens, table, float(losses.sum()), float(losses.mean()))
