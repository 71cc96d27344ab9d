"""The cross-attention head of a checkpoint that aligns words best by gold links.

    python -m benchmarks.gold_alignments checkpoints/en-fr GOLD.tsv.gz --keep

measures every head and writes `aligner.json` into the checkpoint's folder: the head, the method
that reads its alignment, its alignment error rates and the source of the gold links. Pages that
show where a translated word comes from use this head. The file belongs to the weights it was
measured on; a checkpoint without the file, or with other weights, has no aligner head.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.analysis.alignment.aligner_errors import (
    ALIGNMENT_METHODS,
    TARGET_ROWS,
    AlignerErrors,
    ScoreKind,
    TargetRow,
)
from transformer.analysis.stored_results import read_result
from transformer.checkpoint import checkpoint_hash
from transformer.config import ModelConfig
from transformer.text.files import write_json

ALIGNER_FILE = "aligner.json"
"""Name of the file in a checkpoint's folder."""
MAX_TEXT = 300


@dataclass(frozen=True)
class GoldErrors:
    """Alignment error rates on one gold set; all are fractions, 0 is best.

    Attributes:
        name: of the gold set.
        source: who made the links, and where they were published.
        sentences: number of sentence pairs that were counted.
        head: error of the chosen head by method: "weights-output", "weights-input", "norms-output",
            "norms-input".
        low, high: 95% bootstrap interval over sentences, for the chosen method.
        diagonal: error of linking words at the same relative position.
    """

    name: str
    source: str
    sentences: int
    head: Mapping[str, float]
    low: float
    high: float
    diagonal: float


@dataclass(frozen=True)
class AlignerHead:
    """The head that pages show as the checkpoint's aligner.

    Attributes:
        layer, head: indices in cross-attention, from 0.
        score_kind: the score with the lowest error: its "weights", or the "norms" of the weighted
            values.
        target_row: the row that aligns a target word: "output", the row that predicts it, or
            "input", the row that has it as its input.
        weights_to: the best row if only weights are used, for pages that show weights.
        gold: its errors on each gold set.
    """

    layer: int
    head: int
    score_kind: ScoreKind
    target_row: TargetRow
    weights_to: TargetRow
    gold: tuple[GoldErrors, ...]


def choose_aligner_head(
    measured: Sequence[AlignerErrors], names: Sequence[str], sources: Sequence[str]
) -> AlignerHead:
    """Return the head and method with the lowest mean error over the gold sets.

    Args:
        measured: the aligners' errors for the same checkpoint, one for each gold set.
        names, sources: of the gold sets, in the same order.

    Raises:
        ValueError: if there is no gold set.
    """
    if not measured:
        raise ValueError("choosing an aligner head needs at least one set of gold links")
    head_rates = [_head_rates(errors) for errors in measured]
    mean = {key: sum(rates[key] for rates in head_rates) / len(measured) for key in head_rates[0]}
    layer, head, score_kind, target_row = min(mean, key=mean.__getitem__)
    weights_to = min(TARGET_ROWS, key=lambda row: mean[layer, head, "weights", row])
    gold = []
    for errors, rates, name, source in zip(measured, head_rates, names, sources, strict=True):
        accuracy = errors.counts.bootstrap_samples(
            [errors.counts.heads[score_kind, target_row][:, layer, head]]
        )
        (interval,) = accuracy.simultaneous_intervals()
        gold.append(
            GoldErrors(
                name,
                source,
                errors.n_sentences,
                {f"{kind}-{row}": rates[layer, head, kind, row] for kind, row in ALIGNMENT_METHODS},
                1 - interval.high,
                1 - interval.low,
                errors.counts.error_rate(errors.counts.diagonal),
            )
        )
    return AlignerHead(layer, head, score_kind, target_row, weights_to, tuple(gold))


def _head_rates(errors: AlignerErrors) -> dict[tuple[int, int, ScoreKind, TargetRow], float]:
    heads = errors.table[errors.table["aligner"] == "head"]
    return {
        (int(row["layer"]), int(row["head"]), row["by"], row["to"]): float(row["aer"])
        for _, row in heads.iterrows()
    }


def save_aligner_head(folder: str | os.PathLike[str], aligner: AlignerHead) -> Path:
    """Write `aligner.json` for the weights in `folder`, and return its path. Raises OSError."""
    path = Path(folder) / ALIGNER_FILE
    values = {
        "checkpoint": checkpoint_hash(folder),
        "when": int(time.time()),
        "layer": aligner.layer,
        "head": aligner.head,
        "by": aligner.score_kind,
        "to": aligner.target_row,
        "weights_to": aligner.weights_to,
        "gold": [
            {
                "name": gold_errors.name,
                "source": gold_errors.source,
                "sentences": gold_errors.sentences,
                "head": {name: round(error, 4) for name, error in gold_errors.head.items()},
                "low": round(gold_errors.low, 4),
                "high": round(gold_errors.high, 4),
                "diagonal": round(gold_errors.diagonal, 4),
            }
            for gold_errors in aligner.gold
        ],
    }
    write_json(path, values, indent=1)
    return path


def load_aligner_head(
    folder: str | os.PathLike[str], digest: str, config: ModelConfig
) -> AlignerHead | None:
    """Return the aligner head of these weights; None if the file is missing, belongs to other
    weights or is not what `save_aligner_head` writes.

    Args:
        digest: `checkpoint_hash` of the folder.
        config: of the model, which must have the head.
    """
    path = Path(folder) / ALIGNER_FILE
    try:
        values = read_result(path, digest)
        layer, head = int(values["layer"]), int(values["head"])
        if not (0 <= layer < config.n_layers and 0 <= head < config.n_heads):
            return None
        score_kind, target_row = (
            _one_of(values["by"], "weights", "norms"),
            _checked_target_row(values["to"]),
        )
        gold = tuple(_checked_gold_errors(entry) for entry in values["gold"])
        return (
            AlignerHead(
                layer, head, score_kind, target_row, _checked_target_row(values["weights_to"]), gold
            )
            if gold
            else None
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _checked_gold_errors(values: Mapping[str, Any]) -> GoldErrors:
    """Return the stored errors on one gold set. Raises ValueError, KeyError or TypeError if they
    are invalid."""
    head = {
        f"{score_kind}-{target_row}": _checked_rate(values["head"][f"{score_kind}-{target_row}"])
        for score_kind, target_row in ALIGNMENT_METHODS
    }
    texts = [values["name"], values["source"]]
    if not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts):
        raise ValueError(
            f"the name and source of a gold set must be texts of at most {MAX_TEXT} characters"
        )
    bounds = _checked_rate(values["low"]), _checked_rate(values["high"])
    n_sentences = int(values["sentences"])
    diagonal = _checked_rate(values["diagonal"])
    return GoldErrors(texts[0], texts[1], n_sentences, head, *bounds, diagonal)


def _checked_rate(value: Any) -> float:
    rate = float(value)
    if not (math.isfinite(rate) and 0 <= rate <= 1):
        raise ValueError(f"an error rate must be between 0 and 1, not {rate}")
    return rate


def _checked_target_row(value: Any) -> TargetRow:
    row: TargetRow = _one_of(value, "output", "input")
    return row


def _one_of(value: Any, *choices: Any) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r} must be one of {', '.join(choices)}")
    return value
