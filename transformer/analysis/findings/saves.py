"""What early saves of a training scored, kept beside its checkpoint: counts, not weights."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer.analysis.evidence.bootstrap import BleuCounts
from transformer.analysis.findings.finding import Untestable, enough
from transformer.text.files import atomic_path

SCORES = "pruned-saves.json"
"""In a checkpoint's folder."""
MAX_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class SavedScores:
    """One save: BLEU of its translations of a corpus, with all heads and without some."""

    step: int
    whole: BleuCounts
    pruned: BleuCounts


def write_scores(path: str | os.PathLike[str], scores: Sequence[SavedScores]) -> None:
    """A line a save: its step and, for each sentence, the counts that BLEU is made of."""
    lines = [
        {
            "step": one.step,
            "whole": one.whole.counts.astype(int).tolist(),
            "pruned": one.pruned.counts.astype(int).tolist(),
        }
        for one in scores
    ]
    with atomic_path(path) as temporary:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        temporary.write_text(text, encoding="utf-8")


def read_scores(path: Path) -> list[SavedScores]:
    """What `write_scores` wrote.

    Raises:
        Untestable: if the file is too large, of another kind, or of too few sentences.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError("it is too large")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        scores = [
            SavedScores(int(line["step"]), _bleu(line["whole"]), _bleu(line["pruned"]))
            for line in lines
        ]
        counts = {len(bleu.counts) for one in scores for bleu in (one.whole, one.pruned)}
        if len(counts) != 1:
            raise ValueError("its saves have different sentences")
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise Untestable(
            f"{path.name} in the checkpoint's folder cannot be used: it should have what "
            "pruning_over_training counted, a line a save."
        ) from error
    enough(counts.pop())
    return sorted(scores, key=lambda one: one.step)


def _bleu(counts: object) -> BleuCounts:
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != 10 or not (found >= 0).all() or found.max() > 1e6:
        raise ValueError("ten counts a sentence")
    return BleuCounts.of_counts(found)
