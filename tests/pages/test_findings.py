"""Findings in Research: verdicts, cards, runs and downloads."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, download_labels, messages, visible_text
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings.saved_findings import save_findings
from transformer.analysis.reports import report
from transformer.checkpoint import checkpoint_hash
from transformer.jobs import Computation, ComputationService
from transformer.jobs.computation import RESULT, RESULTS_FOLDER, report_computation
from transformer.measures.naming import display_text
from transformer.text.files import read_json, write_json
from transformer.ui.widgets.verdicts import BADGES

N = 12
MEASURED = ("positional", "single", "norms-input", "rare")
main_text = partial(visible_text, kinds=("markdown", "caption"))


def open_experiment(visit: Visit, *folder: Path, **params: str) -> AppTest:
    return visit("pages/research.py", *folder, **{"experiment": "findings", **params})


@pytest.fixture(scope="module")
def results(translator: Translator) -> dict[str, dict[str, Any]]:
    """Return results of some findings, by name."""
    corpus = Corpus.bundled(N)
    return {name: report(translator, corpus, f"finding-{name}").to_dict() for name in MEASURED}


def store_finding(
    checkpoints: Path, runs: Path, name: str, result: dict[str, Any], file: str = RESULT
) -> str:
    digest = checkpoint_hash(checkpoints / "tiny")
    computation = report_computation(
        checkpoints / "tiny", digest, f"finding-{name}", Corpus.bundled(N)
    )
    folder = runs / RESULTS_FOLDER / computation.key
    folder.mkdir(parents=True)
    write_json(folder / file, result)
    return computation.key


def test_without_results_all_findings_are_listed_as_not_measured(visit: Visit) -> None:
    app = open_experiment(visit, sentences=str(N))
    assert not messages(app)
    labels = [re.sub(r"\\(.)", r"\1", button.label) for button in app.button]
    assert "Run all" in labels
    assert "Run" not in labels  # no card is open
    assert not app.get("plotly_chart")
    page_text = main_text(app)
    assert page_text.count("not measured yet") == len(FINDINGS)
    for published in FINDINGS.values():
        assert published.claim in labels
        assert published.source in page_text


def test_verdicts_are_shown_with_reasons_figures_and_files(
    visit: Visit, checkpoints: Path, tmp_path: Path, results: dict[str, dict[str, Any]]
) -> None:
    for name, result in results.items():
        store_finding(checkpoints, tmp_path / "runs", name, result)
    app = open_experiment(visit, sentences=str(N), exact="1")
    assert not messages(app)
    pictures = [
        element for element in app.get("html") if "hu-effect hu-effect-small" in element.proto.body
    ]
    assert len(pictures) == sum(result["value"] is not None for result in results.values())
    page_text = main_text(app)
    assert f"{len(MEASURED)} of {len(FINDINGS)} measured over" in page_text
    verdicts = [result["verdict"] for result in results.values()]
    assert verdicts == ["does not hold here", *verdicts[1:2], *["can't be tested here"] * 2]
    for verdict in verdicts:
        assert f"{BADGES[verdict][1]} {verdict.capitalize()}" in page_text
    table = app.dataframe[0].value.set_index("finding")
    assert [*table.index] == [name for name in FINDINGS if name in MEASURED]
    for name, result in results.items():
        assert table.loc[name, "verdict"] == result["verdict"]
        assert table.loc[name, "reason"] == result["reason"]
    assert table.loc["positional", "floor"] == 90
    assert table.loc["positional", "measured over"] == (
        f"{N} sentences ({results['positional']['corpus']['name']})"
    )
    n_without = len(FINDINGS) - len(MEASURED)
    assert f"2 cannot be tested here, and {n_without} have not been measured." in page_text
    assert page_text.count("not measured yet") == len(FINDINGS) - len(MEASURED)
    assert f"Run the remaining {len(FINDINGS) - len(MEASURED)}" in [
        button.label for button in app.button
    ]
    assert download_labels(app) == ["All verdicts (.csv)"]
    app.button(key="open-single").click().run()
    result, page_text = results["single"], main_text(app)
    assert display_text(result["reason"], exact=True) in page_text
    assert result["correction"] in page_text
    (html,) = (box.proto.body for box in app.get("html") if 'class="hu-effect"' in box.proto.body)
    assert "% of the loss" in html
    (chart,) = charts(app)
    rows = pd.DataFrame(result["table"])
    assert [trace["name"] for trace in chart["data"]] == list(rows["kind"].unique())
    files = download_labels(app)
    assert sorted(files) == ["All verdicts (.csv)", "Figures (.csv)"]
    app.button(key="open-norms-input").click().run()
    assert not app.get("plotly_chart")  # a finding that cannot be tested has no picture


def test_the_latest_result_is_shown_with_its_date_for_any_corpus(
    visit: Visit, checkpoints: Path, tmp_path: Path, results: dict[str, dict[str, Any]]
) -> None:
    runs, name = tmp_path / "runs", "positional"
    key = store_finding(checkpoints, runs, name, results[name])
    about = f"finding-{name} {checkpoint_hash(checkpoints / 'tiny')}"
    seconds = 86400.0 * 31  # 31 days after 1 January 1970
    write_json(runs / RESULTS_FOLDER / key / "config.json", {"subject": about, "when": seconds})
    app = open_experiment(visit, sentences=str(N + 1))  # another corpus
    page_text = main_text(app)
    assert f"0 of {len(FINDINGS)} measured over these sentences" in page_text
    (row,) = app.dataframe[0].value.to_dict("records")
    assert row["measured over"] == f"1 Feb 1970, {N} sentences ({results[name]['corpus']['name']})"
    assert f"{BADGES['does not hold here'][1]} Does not hold here" in page_text
    assert "Run all" in [button.label for button in app.button]


def test_results_on_uploaded_sentences_stay_private(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    subjects: list[str] = []

    def submit(self: ComputationService, computation: Computation, **options: str) -> str:
        subjects.append(computation.subject)
        return computation.key

    monkeypatch.setattr(ComputationService, "submit", submit)
    app = open_experiment(visit, corpus="upload")
    app.text_area(key="corpus-text").set_value("I sleep .\nShe paints .").run()
    next(button for button in app.button if button.label == "Run all").click().run()
    assert subjects == [""] * len(FINDINGS)


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    """Return a folder of checkpoints; `tiny` has a shipped finding of 1 February 1970."""
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    translator, corpus = Translator.load(folder / "tiny", "cpu"), Corpus.bundled(N)
    shipped = [
        {"finding": "positional", **FINDINGS["positional"].run(translator, corpus).to_dict()}
    ]
    path = save_findings(folder / "tiny", {"name": "our own", "sentences": N}, shipped, FINDINGS)
    write_json(path, {**read_json(path), "when": 86400 * 31})
    return folder


def effect_elements(app: AppTest) -> list[Any]:
    return [box for box in app.get("html") if 'class="hu-effect"' in box.proto.body]


def test_a_shipped_finding_has_figures_and_its_origin(visit: Visit, folder: Path) -> None:
    app = open_experiment(visit, folder)
    assert not messages(app)
    page_text = main_text(app)
    (row,) = app.dataframe[0].value.to_dict("records")
    provenance = f"Included with the app: 1 Feb 1970, {N} sentences (our own)"
    assert row["measured over"] == provenance
    assert f"{BADGES['does not hold here'][1]} Does not hold here" in page_text
    assert page_text.count("not measured yet") == len(FINDINGS) - 1
    assert f"0 of {len(FINDINGS)} measured over these sentences" in page_text
    assert "Run all" in [button.label for button in app.button]
    app.button(key="open-positional").click().run()
    assert provenance in main_text(app)
    assert len(effect_elements(app)) == 1
    assert "Run" in [button.label for button in app.button]
