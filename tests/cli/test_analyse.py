"""`analyse`: measures of heads over a corpus."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Shell, check_refused
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings.saved_findings import load_findings
from transformer.analysis.reports import REPORTS
from transformer.analysis.roles.head_measures import measure_heads
from transformer.checkpoint import checkpoint_hash


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text(
        "She paints a boat.\tElle peint un bateau.\t0-0 1-1 2-2 3-3\n"
        "The baker sells bread.\tLe boulanger vend du pain.\t0-0 1-1 2-2 3-3 3?4\n"
    )
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_equals_the_results_of_the_function(
    shell: Shell, checkpoint: Path, corpus: Path
) -> None:
    result = shell("analyse", checkpoint, "--corpus", corpus, "--device", "cpu")
    computed = f"computed in float32 on cpu, threads: {torch.get_num_threads()}\n"
    assert (result.status, result.err) == (0, computed)
    table = measure_heads(Translator.load(checkpoint, "cpu"), Corpus.read(corpus)).table()
    lines = rows(result.out)
    assert len(lines) == len(table)
    for line, (_, expected) in zip(lines, table.iterrows(), strict=True):
        assert (line["kind"], int(line["layer"])) == (expected["kind"], expected["layer"])
        assert float(line["entropy"]) == pytest.approx(expected["entropy"], rel=1e-5)
        assert line["aligned"] == "" or line["kind"] == "cross"


@pytest.mark.parametrize("report_name", REPORTS)
def test_json_has_all_results(
    shell: Shell, checkpoint: Path, corpus: Path, report_name: str
) -> None:
    result = shell("analyse", checkpoint, "--what", report_name, "--corpus", corpus, "--json")
    assert result.status == 0
    content = json.loads(result.out)
    assert content["what"] == report_name
    assert content["corpus"] == {
        "name": "mine.tsv",
        "hash": Corpus.read(corpus).hash,
        "sentences": 2,
    }
    threads = torch.get_num_threads()
    assert content["computed"] == {"precision": "float32", "device": "cpu", "threads": threads}
    table_rows = rows(shell("analyse", checkpoint, "--what", report_name, "--corpus", corpus).out)
    assert [set(line) for line in content["table"]] == [set(line) for line in table_rows]


def test_results_of_some_sentences_are_written_to_a_file(
    shell: Shell, checkpoint: Path, corpus: Path, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    options = ("--what", "heads", "--corpus", corpus, "--json", "--sentences", 1)
    result = shell("analyse", checkpoint, *options, "--output", path)
    assert (result.status, result.out) == (0, "")
    assert json.loads(path.read_text())["corpus"]["sentences"] == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.tsv", "results.json"]
    missing = tmp_path / "out/results.json"
    check_refused(shell("analyse", checkpoint, *options, "--output", missing), "there is no folder")


def test_links_are_read_from_a_separate_file(
    shell: Shell, checkpoint: Path, tmp_path: Path
) -> None:
    (tmp_path / "pairs").write_text("She paints.\tElle peint.\n" * 10)
    (tmp_path / "links").write_text("0-0 1-1\n" * 10)
    subject = ("--what", "finding-alignment-diagonal")
    options = (*subject, "--corpus", tmp_path / "pairs", "--links", tmp_path / "links", "--json")
    table = json.loads(shell("analyse", checkpoint, *options).out)["table"]
    diagonal = [line["aer"] for line in table if line["by"] == "the diagonal"]
    assert {*diagonal} == {0.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--what", "hats"), "'hats' cannot be measured: choose one of heads"),
        (("--sentences", 0), "--sentences must be at least 1, not 0"),
        (("--links", "somewhere"), "--links needs --corpus with a file"),
        (("--bleu",), "--bleu is for --what ablation or without, not heads"),
        (("--heads", "c0"), "--heads is for --what without, not heads"),
        (("--what", "without", "--heads", "c0,e99.0"), "the model has no head e99.0"),
        (("--corpus", "nowhere.tsv"), "nowhere.tsv cannot be read"),
        (("--corpus", "BLANK"), "line 2: the line has no sentence"),
    ],
)
def test_errors_are_one_sentence(
    shell: Shell, checkpoint: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    (tmp_path / "PLAIN").write_text("She paints.\n")
    (tmp_path / "BLANK").write_text("She paints.\n\nShe sells.\n")
    paths_and_options = [
        tmp_path / word if word in ("PLAIN", "BLANK") else word for word in arguments
    ]
    check_refused(shell("analyse", checkpoint, *paths_and_options), message)


def test_findings_are_stored_with_the_checkpoint_on_request(
    shell: Shell, checkpoint: Path, corpus: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(checkpoint, tmp_path / "tiny"))
    command = ("analyse", folder, "--what", "findings", "--corpus", corpus, "--keep", "--json")
    content = json.loads(shell(*command).out)["findings"]
    stored_findings = load_findings(folder, checkpoint_hash(folder), FINDINGS)
    assert [*stored_findings] == [finding["finding"] for finding in content] == [*FINDINGS]
    assert [finding.result["reason"] for finding in stored_findings.values()] == [
        finding["reason"] for finding in content
    ]
    check_refused(shell("analyse", folder, "--keep"), "--keep is for --what findings, not heads")
