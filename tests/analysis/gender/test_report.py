"""Figures stored with a checkpoint, and the benchmark that makes them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import winomt
from tests.gender_figures import ALIGNER, REPORT
from transformer import Translator
from transformer.analysis.alignment.aligner_head import save_aligner_head
from transformer.analysis.gender.measure import measure_gender
from transformer.analysis.gender.report import (
    GENDER_FILE,
    load_gender_report,
    save_gender_report,
    score_table,
)
from transformer.analysis.gender.sentences import Gold, OccupationSentence, read_winomt
from transformer.checkpoint import checkpoint_hash
from transformer.config import ModelConfig

CONFIG = ModelConfig.preset("tiny", vocab_size=320)
PRONOUNS: tuple[tuple[Gold, str], ...] = (("male", "he"), ("female", "she"))
SENTENCES = [
    OccupationSentence(gold, 1, 1, f"The {name} slept because {pronoun} was tired.", name)
    for name in ("doctor", "nurse", "baker")
    for gold, pronoun in PRONOUNS
]


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoints / "tiny", tmp_path / "model"))


def test_a_report_is_loaded_only_for_its_weights(folder: Path) -> None:
    digest = checkpoint_hash(folder)
    assert load_gender_report(folder, digest, CONFIG) is None
    save_gender_report(folder, REPORT)
    assert checkpoint_hash(folder) == digest
    assert load_gender_report(folder, digest, CONFIG) == REPORT
    assert load_gender_report(folder, "0" * 16, CONFIG) is None
    save_gender_report(folder, replace(REPORT, effect=None))
    assert load_gender_report(folder, digest, CONFIG) == replace(REPORT, effect=None)
    table = score_table(REPORT)
    assert table["score"].tolist()[:3] == ["Accuracy", "Accuracy", "Accuracy, he"]
    assert table["value"].tolist()[:3] == [0.6, 0.55, 0.9]


@pytest.mark.parametrize(
    ("path", "invalid"),
    [
        (("effect", "heads", 0, "layer"), 9),
        (("effect", "heads", 0, "kind"), "<b>"),
        (("effect", "heads", 0, "weight"), None),
        (("effect", "intact", "low"), "x"),
        (("effect", "right"), float("nan")),
        (("scores", "person", 0, "name"), "<b>"),
        (("scores", "person", 0, "value"), 7),
        (("scores", "person", 0, "count"), -1),
        (("scores",), {}),
        (("undecided",), {"<b>": 3}),
        (("undecided",), [3]),
        (("sentences",), "many"),
        (("language",), "ja"),
        (("source",), 3),
    ],
)
def test_a_changed_file_is_ignored(
    folder: Path, path: tuple[str | int, ...], invalid: object
) -> None:
    file = save_gender_report(folder, REPORT)
    values = json.loads(file.read_text())
    parent: Any = values
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = invalid
    (folder / GENDER_FILE).write_text(json.dumps(values))
    assert load_gender_report(folder, checkpoint_hash(folder), CONFIG) is None


def test_every_sentence_is_counted_once(translator: Translator) -> None:
    report = measure_gender(translator, ALIGNER, "fr", SENTENCES, "made here")
    assert (report.sentences, report.pairs) == (6, 3)
    assert report.person + report.other + sum(report.undecided.values()) == 6
    assert report.effect is None
    with pytest.raises(ValueError, match="there are no sentences"):
        measure_gender(translator, ALIGNER, "fr", [], "made here")
    with pytest.raises(ValueError, match="not in Japanese"):
        measure_gender(translator, ALIGNER, "ja", SENTENCES, "made here")


def winomt_lines(sentences: list[OccupationSentence]) -> str:
    return "".join(f"{s.gold}\t1\t{s.text}\t{s.occupation}\n" for s in sentences)


def run_benchmark(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr("sys.argv", ["winomt", *map(str, arguments)])
    winomt.main()


def test_the_benchmark_prints_and_stores_the_figures(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "en.txt"
    file.write_text(winomt_lines(SENTENCES), encoding="utf-8")
    with pytest.raises(SystemExit):
        run_benchmark(monkeypatch, folder, file)
    assert "has no aligner.json of its weights" in capsys.readouterr().err
    save_aligner_head(folder, ALIGNER)
    run_benchmark(monkeypatch, folder, file, "--first", 1, "--keep")
    assert "2 sentences, 1 minimal pairs, target: fr" in capsys.readouterr().out
    report = load_gender_report(folder, checkpoint_hash(folder), CONFIG)
    assert report is not None
    assert report.sentences == 2
    file.write_text("The doctor slept.\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        run_benchmark(monkeypatch, folder, file)
    error = capsys.readouterr().err
    assert "line 1: 1 columns; WinoMT has 4" in error
    assert error.count("\n") == 1


def test_a_sample_includes_the_counterparts_of_its_sentences(tmp_path: Path) -> None:
    ordered = [*SENTENCES[1::2], *SENTENCES[::2]]
    assert winomt.first_sentences(ordered, None) == ordered
    assert [s.gold for s in winomt.first_sentences(ordered, 2)] == ["female"] * 2 + ["male"] * 2
    file = tmp_path / "en.txt"
    file.write_text(winomt_lines(ordered), encoding="utf-8")
    assert read_winomt(file) == ordered
