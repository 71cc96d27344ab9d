"""The table that training works by: outputs shifted right by one (sections 3 and 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from transformer.inference.translator import Translator


@dataclass(frozen=True, eq=False)
class Shifted:
    """One pair as training sees it.

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
    logits = trace["hook_logits"].astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
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
