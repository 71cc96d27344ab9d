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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.analysis.alignment.leaderboard import (
    ALIGNMENT_METHODS,
    Leaderboard,
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
METHODS = tuple(f"{score_kind}-{target_row}" for score_kind, target_row in ALIGNMENT_METHODS)


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
        baselines: errors of aligners that need no Transformer, by name: "diagonal", "model 1",
            "statistical", "chance".
        heads: errors of every head by method, (layers, heads).
    """

    name: str
    source: str
    sentences: int
    head: Mapping[str, float]
    low: float
    high: float
    baselines: Mapping[str, float]
    heads: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """Return the heads, the best first: layer and head from 1, and AER in percent by method."""
        rows = [
            [layer + 1, head + 1, *(100 * self.heads[method][layer][head] for method in METHODS)]
            for layer, row in enumerate(self.heads.get(METHODS[0], ()))
            for head in range(len(row))
        ]
        rows.sort(key=lambda row: min(row[2:]))
        return pd.DataFrame(rows, columns=["layer", "head", *METHODS])


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
    boards: Sequence[Leaderboard], names: Sequence[str], sources: Sequence[str]
) -> AlignerHead:
    """Return the head and method with the lowest mean error over the gold sets.

    Args:
        boards: leaderboards of the same checkpoint, one for each gold set, with all
            `ALIGNMENT_METHODS`.
        names, sources: of the gold sets, in the same order.

    Raises:
        ValueError: if there is no leaderboard.
    """
    if not boards:
        raise ValueError("choosing an aligner head needs at least one set of gold links")
    errors = [_errors(board) for board in boards]
    mean = {
        key: sum(board_errors[key] for board_errors in errors) / len(errors) for key in errors[0]
    }
    layer, head, score_kind, target_row = min(mean, key=mean.__getitem__)
    rows: tuple[TargetRow, TargetRow] = ("output", "input")
    weights_to = min(rows, key=lambda row: mean[layer, head, "weights", row])
    gold = []
    for board, name, source in zip(boards, names, sources, strict=True):
        accuracy = board.counts.bootstrap_samples(
            [board.counts.heads[score_kind, target_row][:, layer, head]]
        )
        (interval,) = accuracy.simultaneous_intervals()
        baselines = board.table[~board.table["aligner"].isin(["head", "layer"])]
        errors_of_board = _errors(board)
        gold.append(
            GoldErrors(
                name,
                source,
                board.n_sentences,
                {
                    f"{score_kind}-{target_row}": errors_of_board[
                        layer, head, score_kind, target_row
                    ]
                    for score_kind, target_row in ALIGNMENT_METHODS
                },
                1 - interval.high,
                1 - interval.low,
                dict(zip(baselines["aligner"], baselines["aer"].astype(float), strict=True)),
                _head_grids(errors_of_board),
            )
        )
    return AlignerHead(layer, head, score_kind, target_row, weights_to, tuple(gold))


def _head_grids(
    errors: Mapping[tuple[int, int, ScoreKind, TargetRow], float],
) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Return the errors by method as (layers, heads)."""
    n_layers, n_heads = 1 + max(key[0] for key in errors), 1 + max(key[1] for key in errors)
    return {
        f"{score_kind}-{target_row}": tuple(
            tuple(errors[layer, head, score_kind, target_row] for head in range(n_heads))
            for layer in range(n_layers)
        )
        for score_kind, target_row in ALIGNMENT_METHODS
    }


def _errors(board: Leaderboard) -> dict[tuple[int, int, ScoreKind, TargetRow], float]:
    heads = board.table[board.table["aligner"] == "head"]
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
                "head": _rounded(gold_errors.head),
                "low": round(gold_errors.low, 4),
                "high": round(gold_errors.high, 4),
                "baselines": _rounded(gold_errors.baselines),
                "heads": {
                    method: [[round(error, 4) for error in row] for row in grid]
                    for method, grid in gold_errors.heads.items()
                },
            }
            for gold_errors in aligner.gold
        ],
    }
    write_json(path, values, indent=1)
    return path


def _rounded(errors: Mapping[str, float]) -> dict[str, float]:
    return {name: round(error, 4) for name, error in errors.items()}


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
        gold = tuple(_checked_gold_errors(entry, config) for entry in values["gold"])
        return (
            AlignerHead(
                layer, head, score_kind, target_row, _checked_target_row(values["weights_to"]), gold
            )
            if gold
            else None
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _checked_gold_errors(values: Mapping[str, Any], config: ModelConfig) -> GoldErrors:
    """Return the stored errors on one gold set. Raises ValueError, KeyError or TypeError if they
    are invalid."""
    head = {
        f"{score_kind}-{target_row}": _checked_rate(values["head"][f"{score_kind}-{target_row}"])
        for score_kind, target_row in ALIGNMENT_METHODS
    }
    names = "diagonal", "model 1", "statistical", "chance"
    baselines = {name: _checked_rate(values["baselines"][name]) for name in names}
    texts = [values["name"], values["source"]]
    if not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts):
        raise ValueError(
            f"the name and source of a gold set must be texts of at most {MAX_TEXT} characters"
        )
    bounds = _checked_rate(values["low"]), _checked_rate(values["high"])
    n_sentences = int(values["sentences"])
    heads = _checked_grids(values["heads"], config)
    return GoldErrors(texts[0], texts[1], n_sentences, head, *bounds, baselines, heads)


def _checked_grids(
    values: Mapping[str, Any], config: ModelConfig
) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Return the errors of every head by method; raise ValueError for another number of heads."""
    grids = {
        method: tuple(tuple(_checked_rate(error) for error in row) for row in values[method])
        for method in METHODS
    }
    for grid in grids.values():
        if [len(row) for row in grid] != [config.n_heads] * config.n_layers:
            raise ValueError("the numbers of layers and heads do not match the model")
    return grids


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
