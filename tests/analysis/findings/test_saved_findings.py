"""Findings stored with their checkpoint, and loaded for these weights only."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings.saved_findings import (
    FINDINGS_FILE,
    MAX_BYTES,
    load_findings,
    save_findings,
)
from transformer.checkpoint import checkpoint_hash

ROOT = Path(__file__).resolve().parents[3]
CORPUS = {"name": "our own", "hash": "0", "sentences": 12}


@pytest.fixture(scope="module")
def summaries(checkpoints: Path) -> list[dict[str, Any]]:
    """One finding with an effect and one that cannot be tested, as in the report."""
    translator, corpus = Translator.load(checkpoints / "tiny", "cpu"), Corpus.bundled(12)
    findings = [FINDINGS[name] for name in ("positional", "norms-input")]
    return [
        {**finding.about(), **finding.run(translator, corpus).to_dict()} for finding in findings
    ]


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoints / "tiny", tmp_path / "tiny"))


def test_scores_survive_a_round_trip(folder: Path, summaries: list[dict[str, Any]]) -> None:
    path = save_findings(folder, CORPUS, summaries, FINDINGS)
    assert path.name == FINDINGS_FILE
    assert path.stat().st_size < MAX_BYTES / 10
    loaded = load_findings(folder, checkpoint_hash(folder), FINDINGS)
    assert [*loaded] == ["positional", "norms-input"]
    for summary in summaries:
        reloaded = loaded[summary["finding"]]
        assert abs(reloaded.measured_at - time.time()) < 60
        for name in ("verdict", "reason", "value", "low", "high", "floor", "claim", "source"):
            assert reloaded.result[name] == summary[name]
        assert reloaded.result["measured"] == summary["sentences"]
        assert reloaded.result["corpus"] == {"name": "our own", "sentences": 12}


def test_results_of_other_weights_or_rules_are_ignored(
    folder: Path, summaries: list[dict[str, Any]]
) -> None:
    path = save_findings(folder, CORPUS, summaries, FINDINGS)
    digest = checkpoint_hash(folder)
    changed_rules = {**FINDINGS, "positional": replace(FINDINGS["positional"], rule="another rule")}
    assert [*load_findings(folder, digest, changed_rules)] == ["norms-input"]
    card = folder / "README.md"
    card.write_text(card.read_text() + "a word more\n")
    assert len(load_findings(folder, checkpoint_hash(folder), FINDINGS)) == 2
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert not load_findings(folder, checkpoint_hash(folder), FINDINGS)
    path.unlink()
    assert not load_findings(folder, digest, FINDINGS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verdict", "surely"),
        ("value", float("nan")),
        ("low", "<b>"),
        ("reason", "x" * 2_000),
    ],
)
def test_implausible_results_are_ignored(
    folder: Path, summaries: list[dict[str, Any]], name: str, value: Any
) -> None:
    path = save_findings(folder, CORPUS, summaries, FINDINGS)
    loaded = json.loads(path.read_text())
    loaded["findings"]["positional"][name] = value
    path.write_text(json.dumps(loaded))
    assert not load_findings(folder, checkpoint_hash(folder), FINDINGS)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, " " * (MAX_BYTES + 1)])
def test_invalid_files_are_ignored(folder: Path, text: str) -> None:
    (folder / FINDINGS_FILE).write_text(text)
    assert not load_findings(folder, checkpoint_hash(folder), FINDINGS)


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "checkpoints").glob(f"*/{FINDINGS_FILE}")),
    ids=lambda path: path.parent.name,
)
def test_the_included_findings_match_the_included_weights_and_rules(path: Path) -> None:
    """If this fails, run `python -m transformer analyse … --what findings --sentences 300
    --keep`."""
    assert [*load_findings(path.parent, checkpoint_hash(path.parent), FINDINGS)] == [*FINDINGS]
