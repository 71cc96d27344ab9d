"""Findings that were measured on a checkpoint and are kept beside it, for whoever opens it next.

    python -m transformer analyse checkpoints/en-fr --what findings --sentences 300 --keep

writes `findings.json` into the checkpoint's folder. It is of these weights and of the rules as they
stood: with others, what it says of them is not read any more.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from transformer.analysis.evidence.verdicts import Effect, Word
from transformer.analysis.findings.finding import Published
from transformer.checkpoint import checkpoint_hash
from transformer.text.files import read_json, write_json

KEPT = "findings.json"
"""In a checkpoint's folder."""
MAX_BYTES = 100_000
_NUMBERS = ("value", "low", "high", "floor")
_TEXTS = ("effect", "unit", "needs", "correction")
_MAX_TEXT = 1_000


@dataclass(frozen=True)
class KeptFinding:
    """What came of one finding.

    Attributes:
        when: it was measured, in seconds since 1970.
        result: what `analyse --what finding-NAME --json` writes, without its table.
    """

    when: float
    result: dict[str, Any]


def keep(
    folder: str | os.PathLike[str],
    corpus: Mapping[str, Any],
    found: list[dict[str, Any]],
    published: Mapping[str, Published],
) -> Path:
    """Write them beside the checkpoint, and return where.

    Args:
        corpus: its name, hash and number of sentences.
        found: `Finding.summary` of each, with its name as "finding".
        published: all findings by name.

    Raises:
        OSError: where nothing can be written.
    """
    lines = {}
    for one in found:
        rule = published[one["finding"]].rule
        line = {name: one[name] for name in ("verdict", "reason", *Effect.COLUMNS)}
        lines[one["finding"]] = {"rule": rule, **line, "measured": one["sentences"]}
    path = Path(folder) / KEPT
    about = {"checkpoint": checkpoint_hash(folder), "when": int(time.time())}
    write_json(path, {**about, "corpus": dict(corpus), "findings": lines}, indent=1)
    return path


def kept(
    folder: str | os.PathLike[str], digest: str, published: Mapping[str, Published]
) -> dict[str, KeptFinding]:
    """By name, what is kept of these weights by the rules of today.

    Nothing where there is no such file, or one that nobody here can have written.

    Args:
        digest: the checkpoint's hash.
    """
    path = Path(folder) / KEPT
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        read = read_json(path)
        when, corpus, lines = float(read["when"]), dict(read["corpus"]), dict(read["findings"])
        about = {"name": _text(corpus["name"]), "sentences": int(corpus["sentences"])}
        if read["checkpoint"] != digest or not 0 <= when < 1e11:
            return {}
        return {
            name: KeptFinding(when, {**_checked(lines[name]), **one.about(), "corpus": about})
            for name, one in published.items()
            if name in lines and lines[name]["rule"] == one.rule
        }
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return {}


def _checked(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line that has what a page shows. Raises ValueError, KeyError or TypeError for another."""
    if line["verdict"] not in get_args(Word):
        raise ValueError("no verdict")
    checked = {"verdict": line["verdict"], "reason": _text(line["reason"])}
    checked["measured"] = int(line["measured"])
    if line["value"] is None:
        if line["verdict"] != "can't be tested here":
            raise ValueError("a verdict without a figure")
        return checked | dict.fromkeys(Effect.COLUMNS)
    checked |= {name: _text(line[name]) for name in _TEXTS}
    checked |= {name: float(line[name]) for name in _NUMBERS}
    if line["needs"] not in ("above", "below"):
        raise ValueError("a side of the floor")
    if not all(math.isfinite(checked[name]) for name in _NUMBERS):
        raise ValueError("a number")
    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ValueError("a text")
    return value
