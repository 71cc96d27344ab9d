"""Gender figures stored with a checkpoint, so that pages can show them without the sentences.

`python -m benchmarks.winomt CHECKPOINT en.txt --keep` writes `winomt.json`. It belongs to the
weights that it was measured on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.gender.measure import COUNTED_NOUNS, GenderReport
from transformer.analysis.gender.nouns import LANGUAGES
from transformer.analysis.gender.occupation_gender import UNDECIDED
from transformer.analysis.gender.pronoun_heads import KINDS, PronounEffect, PronounHead
from transformer.analysis.gender.scores import SCORES, Score
from transformer.analysis.stored_results import read_result
from transformer.checkpoint import checkpoint_hash
from transformer.config import ModelConfig
from transformer.text.files import write_json

GENDER_FILE = "winomt.json"
NOUN_LABELS = {"person": "nouns for people", "any": "every aligned noun"}
_MAX_SOURCE_LENGTH = 300
_SHARES = "right", "right_off", "right_random", "flipped", "flipped_random"


def score_table(report: GenderReport) -> pd.DataFrame:
    """Return one row per score: score, nouns, value, low, high and count."""
    rows = [
        (SCORES[score.name], NOUN_LABELS[nouns], score.value, score.low, score.high, score.count)
        for name in SCORES
        for nouns in COUNTED_NOUNS
        for score in report.scores[nouns]
        if score.name == name
    ]
    return pd.DataFrame(rows, columns=["score", "nouns", "value", "low", "high", "count"])


def save_gender_report(folder: str | os.PathLike[str], report: GenderReport) -> Path:
    """Write `winomt.json` for the weights in `folder`, and return its path. Raises OSError."""
    path = Path(folder) / GENDER_FILE
    values = {"checkpoint": checkpoint_hash(folder), **_rounded(asdict(report))}
    write_json(path, values, indent=1)
    return path


def load_gender_report(
    folder: str | os.PathLike[str], digest: str, config: ModelConfig
) -> GenderReport | None:
    """Return the report of these weights; None if the file is missing, invalid or of other weights.

    Args:
        digest: `checkpoint_hash` of the folder.
        config: of the model, which must have the heads.
    """
    path = Path(folder) / GENDER_FILE
    try:
        values = read_result(path, digest)
        effect = values["effect"]
        scores = values["scores"]
        return GenderReport(
            source=_checked_text(values["source"]),
            language=_one_of(values["language"], LANGUAGES),
            sentences=_count(values["sentences"]),
            pairs=_count(values["pairs"]),
            person=_count(values["person"]),
            other=_count(values["other"]),
            undecided={
                _one_of(reason, UNDECIDED): _count(count)
                for reason, count in values["undecided"].items()
            },
            scores={nouns: tuple(map(_score, scores[nouns])) for nouns in COUNTED_NOUNS},
            effect=None if effect is None else _effect(effect, config),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _effect(values: Mapping[str, Any], config: ModelConfig) -> PronounEffect:
    """Raise ValueError, KeyError or TypeError for what `save_gender_report` did not write."""
    heads = tuple(PronounHead(**head) for head in values["heads"])
    for head in heads:
        _one_of(head.kind, KINDS)
        if not (0 <= head.layer < config.n_layers and 0 <= head.head < config.n_heads):
            raise ValueError(f"the model has no layer {head.layer}, head {head.head}")
        _check_numbers(*list(vars(head).values())[3:])
    intact, off, random = (Interval(**values[name]) for name in ("intact", "off", "random"))
    for interval in (intact, off, random):
        _check_numbers(interval.value, interval.low, interval.high)
    shares = {name: float(values[name]) for name in _SHARES}
    _check_numbers(*shares.values())
    pairs = _count(values["pairs"])
    return PronounEffect(pairs, heads, intact, off, random, *shares.values())


def _score(values: Mapping[str, Any]) -> Score:
    score = Score(**values)
    _one_of(score.name, tuple(SCORES))
    _check_numbers(score.value, score.low, score.high)
    if not all(-1 <= number <= 1 for number in (score.value, score.low, score.high)):
        raise ValueError("a score is not between -1 and 1")
    _count(score.count)
    return score


def _check_numbers(*numbers: float) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a figure is not a finite number")


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"a count must be a whole number from 0, not {value!r}")
    return value


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"the source must be a text, not {value!r}")
    return value[:_MAX_SOURCE_LENGTH]


def _one_of(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{value!r} must be one of {', '.join(choices)}")
    return str(value)
