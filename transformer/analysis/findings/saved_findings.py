"""Findings that were measured on a checkpoint and are saved in its folder.

    python -m transformer analyse checkpoints/en-fr --what findings --sentences 300 --keep

writes `findings.json` into the checkpoint's folder. The file is valid for these weights and these
rules; with other weights or a changed rule, its findings are ignored.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from transformer.analysis.evidence.verdicts import Effect, VerdictWord
from transformer.analysis.findings.finding import PublishedFinding
from transformer.checkpoint import checkpoint_hash
from transformer.text.files import read_json, write_json

FINDINGS_FILE = "findings.json"
"""Name of the file in a checkpoint's folder."""
MAX_BYTES = 100_000
_NUMBERS = ("value", "low", "high", "floor")
_TEXTS = ("effect", "unit", "needs", "correction")
_MAX_TEXT = 1_000


@dataclass(frozen=True)
class SavedFinding:
    """The saved result of one finding.

    Attributes:
        measured_at: time of the measurement, in seconds since 1970.
        result: what `analyse --what finding-NAME --json` writes, without its table.
    """

    measured_at: float
    result: dict[str, Any]


def save_findings(
    folder: str | os.PathLike[str],
    corpus: Mapping[str, Any],
    summaries: list[dict[str, Any]],
    published: Mapping[str, PublishedFinding],
) -> Path:
    """Write findings into the checkpoint's folder, and return the path.

    Args:
        corpus: its name, hash and number of sentences.
        summaries: `Finding.summary` of each, with its name as "finding".
        published: all findings by name.

    Raises:
        OSError: if the file cannot be written.
    """
    findings = {}
    for summary in summaries:
        rule = published[summary["finding"]].rule
        finding = {name: summary[name] for name in ("verdict", "reason", *Effect.COLUMNS)}
        findings[summary["finding"]] = {"rule": rule, **finding, "measured": summary["sentences"]}
    path = Path(folder) / FINDINGS_FILE
    header = {"checkpoint": checkpoint_hash(folder), "when": int(time.time())}
    write_json(path, {**header, "corpus": dict(corpus), "findings": findings}, indent=1)
    return path


def load_findings(
    folder: str | os.PathLike[str], digest: str, published: Mapping[str, PublishedFinding]
) -> dict[str, SavedFinding]:
    """Return the saved findings by name that are for these weights and the current rules.

    Empty if the file is missing or invalid.

    Args:
        digest: the checkpoint's hash.
    """
    path = Path(folder) / FINDINGS_FILE
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        content = read_json(path)
        measured_at, corpus, stored_findings = (
            float(content["when"]),
            dict(content["corpus"]),
            dict(content["findings"]),
        )
        corpus_summary = {"name": _text(corpus["name"]), "sentences": int(corpus["sentences"])}
        if content["checkpoint"] != digest or not 0 <= measured_at < 1e11:
            return {}
        return {
            name: SavedFinding(
                measured_at,
                {**_checked(stored_findings[name]), **finding.about(), "corpus": corpus_summary},
            )
            for name, finding in published.items()
            if name in stored_findings and stored_findings[name]["rule"] == finding.rule
        }
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return {}


def _checked(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that a page shows.

    Raises:
        ValueError, KeyError, TypeError: for an invalid row.
    """
    verdict = stored["verdict"]
    if verdict not in get_args(VerdictWord):
        raise ValueError("the verdict is unknown")
    checked: dict[str, Any] = {"verdict": verdict, "reason": _text(stored["reason"])}
    checked["measured"] = int(stored["measured"])
    if stored["value"] is None:
        if stored["verdict"] != "can't be tested here":
            raise ValueError("this verdict needs a figure")
        return checked | dict.fromkeys(Effect.COLUMNS)
    checked |= {name: _text(stored[name]) for name in _TEXTS}
    checked |= {name: float(stored[name]) for name in _NUMBERS}
    if stored["needs"] not in ("above", "below"):
        raise ValueError('"needs" must be "above" or "below"')
    if not all(math.isfinite(checked[name]) for name in _NUMBERS):
        raise ValueError("the numbers must be finite")
    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ValueError(f"the value must be a text of at most {_MAX_TEXT} characters")
    return value
