"""Syntax scores stored with a checkpoint, so that pages can show them without the trees.

`python -m benchmarks.syntax CHECKPOINT SOURCE.conllu.gz TARGET.conllu.gz --keep` writes
`syntax.json`. It is valid only for the weights that it was measured on.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.analysis.roles.syntax import RELATIONS, SyntaxScore
from transformer.analysis.stored_results import read_result
from transformer.checkpoint import checkpoint_hash
from transformer.config import ModelConfig
from transformer.text.files import write_json

SYNTAX_FILE = "syntax.json"
_MAX_SOURCE_LENGTH = 300


@dataclass(frozen=True)
class SyntaxReport:
    """Scores of one checkpoint.

    Attributes:
        source: who made the trees, and under which licence.
        sentences: number of sentences that were measured.
        scores: one score for every stack and relation.
    """

    source: str
    sentences: int
    scores: tuple[SyntaxScore, ...]

    def chart_table(self, stack: str) -> pd.DataFrame:
        """Return two rows per relation, for the best head and the best offset, with the columns
        relation, method, accuracy, low and high. The head's interval is that of its difference
        from the offset, plus the offset's accuracy."""
        rows = []
        for score in self.scores:
            if score.stack == stack:
                base = score.offset_accuracy
                rows += [
                    (
                        score.relation,
                        "best head",
                        score.accuracy,
                        base + score.low,
                        base + score.high,
                    ),
                    (score.relation, "best fixed offset", base, base, base),
                ]
        return pd.DataFrame(rows, columns=["relation", "method", "accuracy", "low", "high"])

    def table(self) -> pd.DataFrame:
        """Return the scores as a table, one row each, with `syntactic`."""
        return pd.DataFrame(
            [{**score.to_dict(), "syntactic": score.syntactic} for score in self.scores]
        )


def save_syntax_report(folder: str | os.PathLike[str], report: SyntaxReport) -> Path:
    """Write `syntax.json` for the weights in `folder`, and return its path. Raises OSError."""
    path = Path(folder) / SYNTAX_FILE
    values = {
        "checkpoint": checkpoint_hash(folder),
        "source": report.source,
        "sentences": report.sentences,
        "scores": [_rounded(score.to_dict()) for score in report.scores],
    }
    write_json(path, values, indent=1)
    return path


def load_syntax_report(
    folder: str | os.PathLike[str], digest: str, config: ModelConfig
) -> SyntaxReport | None:
    """Return the report of these weights; None if the file is missing, invalid or of other weights.

    Args:
        digest: `checkpoint_hash` of the folder.
        config: configuration of the model; a score of a head that it does not have is invalid.
    """
    path = Path(folder) / SYNTAX_FILE
    try:
        values = read_result(path, digest)
        source = values["source"]
        if not isinstance(source, str):
            return None
        scores = tuple(_checked(score, config) for score in values["scores"])
        return SyntaxReport(source[:_MAX_SOURCE_LENGTH], int(values["sentences"]), scores)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _rounded(values: dict[str, str | float]) -> dict[str, str | float]:
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def _checked(values: dict[str, Any], config: ModelConfig) -> SyntaxScore:
    """Return a stored score. Raises ValueError, KeyError or TypeError if it is invalid."""
    score = SyntaxScore(**values)
    if score.stack not in ("encoder", "decoder") or score.relation not in RELATIONS:
        raise ValueError(f"unknown stack or relation: {score.stack!r}, {score.relation!r}")
    if not (0 <= score.layer < config.n_layers and 0 <= score.head < config.n_heads):
        raise ValueError(f"the model has no layer {score.layer}, head {score.head}")
    if not all(math.isfinite(x) and 0 <= x <= 1 for x in (score.accuracy, score.offset_accuracy)):
        raise ValueError("an accuracy is not between 0 and 1")
    if not (math.isfinite(score.low) and math.isfinite(score.high)):
        raise ValueError("an interval is not finite")
    return score
