"""The aligner head of a checkpoint: chosen by the lowest error, valid for these weights only."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gold_alignments
from transformer import Translator
from transformer.analysis.alignment.aligner_errors import AlignerErrors, measure_aligners
from transformer.analysis.alignment.aligner_head import (
    ALIGNER_FILE,
    AlignerHead,
    choose_aligner_head,
    load_aligner_head,
    save_aligner_head,
)
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import checkpoint_hash, load_config

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tiny_errors(checkpoints: Path) -> AlignerErrors:
    translator = Translator.load(checkpoints / "tiny", "cpu")
    return measure_aligners(translator, Corpus.bundled(40, symbols=True))


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoints / "tiny", tmp_path / "tiny"))


def load_head(folder: Path) -> AlignerHead | None:
    return load_aligner_head(folder, checkpoint_hash(folder), load_config(folder))


def test_the_head_with_the_lowest_error_is_chosen(tiny_errors: AlignerErrors) -> None:
    chosen = choose_aligner_head([tiny_errors], ["gold set"], ["its annotators"])
    best = tiny_errors.table[tiny_errors.table["aligner"] == "head"].iloc[0]
    position = (best["layer"], best["head"], best["by"], best["to"])
    assert (chosen.layer, chosen.head, chosen.score_kind, chosen.target_row) == position
    (gold,) = chosen.gold
    assert gold.head[f"{chosen.score_kind}-{chosen.target_row}"] == pytest.approx(best["aer"])
    assert gold.low < best["aer"] < gold.high
    assert gold.head[f"weights-{chosen.weights_to}"] == pytest.approx(
        min(gold.head["weights-output"], gold.head["weights-input"])
    )
    is_diagonal = tiny_errors.table["aligner"] == "diagonal"
    assert [gold.diagonal] == tiny_errors.table[is_diagonal]["aer"].tolist()
    with pytest.raises(ValueError, match="at least one set"):
        choose_aligner_head([], [], [])


def test_the_mean_error_over_gold_sets_chooses_the_head(tiny_errors: AlignerErrors) -> None:
    table = tiny_errors.table.copy()
    heads = table["aligner"] == "head"
    second = table[heads].iloc[1]
    is_second = heads & (table["layer"] == second["layer"]) & (table["head"] == second["head"])
    table.loc[is_second, "aer"] = 0.0
    changed_errors = replace(tiny_errors, table=table)
    chosen = choose_aligner_head([tiny_errors, changed_errors], ["one", "two"], ["", ""])
    assert (chosen.layer, chosen.head) == (second["layer"], second["head"])
    assert [gold_set.name for gold_set in chosen.gold] == ["one", "two"]


CORRUPTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "other weights": lambda values: values.update(checkpoint="0" * 16),
    "no such head": lambda values: values.update(head=99),
    "no number": lambda values: values["gold"][0].update(low="nan"),
    "a key missing": lambda values: values.pop("layer"),
    "a text too long": lambda values: values["gold"][0].update(source="x" * 10_000),
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=[*CORRUPTIONS])
def test_a_file_of_other_weights_or_another_format_is_ignored(
    corrupt: Callable[[dict[str, Any]], Any], tiny_errors: AlignerErrors, folder: Path
) -> None:
    path = save_aligner_head(
        folder, choose_aligner_head([tiny_errors], ["gold set"], ["its annotators"])
    )
    values = json.loads(path.read_text())
    corrupt(values)
    path.write_text(json.dumps(values))
    assert load_head(folder) is None
    path.write_text("[" * 50_000)
    assert load_head(folder) is None


@pytest.mark.parametrize("name", ["en-fr", "en-de"])
def test_the_included_checkpoints_have_an_aligner_file(name: str) -> None:
    folder = ROOT / "checkpoints" / name
    head = load_head(folder)
    assert head is not None, f"run benchmarks.gold_alignments checkpoints/{name} … --keep again"
    for gold in head.gold:
        best = min(gold.head.values())
        assert best < gold.diagonal
        assert gold.head[f"{head.score_kind}-{head.target_row}"] == pytest.approx(best, abs=0.02)
        assert gold.source != gold.name


def test_the_benchmark_prints_all_variants_and_stores_the_best_head(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    lines = [
        f"{s.source}\t{s.target}\t{' '.join(f'{i}-{j}' for i, j in sorted(s.gold.sure))}"
        for s in Corpus.bundled(120, symbols=True).sentences
        if s.gold is not None
    ]
    gold = tmp_path / "mine.en-fr.tsv"
    gold.write_text("\n".join(lines), encoding="utf-8")
    arguments = ["gold_alignments", str(folder), str(gold), "--source", "annotators", "--keep"]
    monkeypatch.setattr("sys.argv", arguments)
    gold_alignments.main()
    printed = capsys.readouterr().out
    assert "weights, output" in printed
    assert "norms, input" in printed
    assert "diagonal" in printed
    head = load_head(folder)
    assert head is not None
    assert (head.gold[0].source, head.gold[0].name) == ("annotators", "mine.en-fr")
    rate = f"{100 * head.gold[0].head[f'{head.score_kind}-{head.target_row}']:.1f}% on mine.en-fr"
    assert rate in printed
    assert str(folder / ALIGNER_FILE) in printed
