"""The Findings page: cards that wait, cards with a verdict, and what can be taken home."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Word
from transformer.analysis.findings import FINDINGS
from transformer.analysis.reports import report
from transformer.checkpoint import checkpoint_hash
from transformer.jobs import Computation, Computing
from transformer.jobs.computation import LANES, of_report
from transformer.jobs.computation_service import FOLDER
from transformer.jobs.results import FAILED, RESULT
from transformer.text.files import write_json
from transformer.ui.kit.verdicts import BADGES

PAGE, N = "pages/findings.py", 12
DONE = ("positional", "last-cross", "norms-input", "tolerance")


@pytest.fixture(scope="module")
def results(checkpoints: Path) -> dict[str, dict[str, Any]]:
    """Some findings as their passes would leave them, by name."""
    translator, corpus = Translator.load(checkpoints / "tiny", "cpu"), Corpus.bundled(N)
    return {name: report(translator, corpus, f"finding-{name}").to_dict() for name in DONE}


def put(checkpoints: Path, runs: Path, name: str, made: dict[str, Any], file: str = RESULT) -> None:
    digest = checkpoint_hash(checkpoints / "tiny")
    asked = of_report(checkpoints / "tiny", digest, f"finding-{name}", Corpus.bundled(N))
    folder = runs / FOLDER / asked.key
    folder.mkdir(parents=True)
    write_json(folder / file, made)


def texts(app: AppTest) -> str:
    found = "\n".join(box.value for box in [*app.markdown, *app.caption])
    return re.sub(r"\\(.)", r"\1", found)


def test_nothing_is_known_beforehand(visit: Visit) -> None:
    app = visit(PAGE, sentences=str(N))
    assert not messages(app)
    labels = [button.label for button in app.button]
    assert labels.count("Run") == len(FINDINGS)
    assert "Run all" in labels
    assert not app.get("plotly_chart")
    told = texts(app)
    for published in FINDINGS.values():
        assert published.claim in told
        assert published.source in told
        assert published.rule in told
        assert f"{min(N, published.most)} sentences, about" in told


def test_verdicts_with_reason_figures_and_files(
    visit: Visit, checkpoints: Path, tmp_path: Path, results: dict[str, dict[str, Any]]
) -> None:
    for name, made in results.items():
        put(checkpoints, tmp_path / "runs", name, made)
    app = visit(PAGE, sentences=str(N), exact="1")
    assert not messages(app)
    told = texts(app)
    assert f"{len(DONE)} of {len(FINDINGS)} have been run" in told
    for made in results.values():
        assert made["reason"] in told
    verdicts = [made["verdict"] for made in results.values()]
    assert verdicts == ["refuted", *verdicts[1:2], *["can't be tested here"] * 2]
    for word in verdicts:
        assert f"{BADGES[word][1]} {word.capitalize()}" in told
    shown = [box.proto.body for box in app.get("html") if 'class="hu-effect"' in box.proto.body]
    assert len(shown) == 2  # of what could be measured
    assert "The claim needs &gt; 90% of the rows" in shown[0]
    assert "% of the loss" in shown[1]
    assert results["last-cross"]["correction"] in told
    charts = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert len(charts) == 2  # what cannot be tested has nothing to draw
    rows = pd.DataFrame(results["last-cross"]["table"])
    drawn = [trace["name"] for trace in charts[1]["data"]]
    assert drawn == list(rows["kind"].unique())
    files = [box.proto.label for box in app.get("download_button")]
    assert files == ["All verdicts (.csv)", *["These figures (.csv)"] * 2]
    assert [button.label for button in app.button].count("Run") == len(FINDINGS) - len(DONE)
    assert f"Run the other {len(FINDINGS) - len(DONE)}" in [b.label for b in app.button]


def test_what_failed_says_why(visit: Visit, checkpoints: Path, tmp_path: Path) -> None:
    put(
        checkpoints,
        tmp_path / "runs",
        "single",
        {"reason": f"sentence 3 of {tmp_path}/runs/x.arrow is <b>too</b> long"},
        FAILED,
    )
    app = visit(PAGE, sentences=str(N))
    (message,) = messages(app)
    assert "sentence 3 of runs/x.arrow is" in message.replace("\\", "")
    assert str(tmp_path) not in message.replace("\\", "")
    assert "Try again" in [button.label for button in app.button]


def test_all_of_them_may_wait_together() -> None:
    assert len(FINDINGS) <= LANES["corpus"].of_a_visitor


def test_every_verdict_has_a_sign_and_a_colour_of_its_own() -> None:
    assert set(BADGES) == set(get_args(Word))
    assert len({icon for _, icon in BADGES.values()}) == len(BADGES)
    assert len({colour for colour, _ in BADGES.values()}) == len(BADGES)


def test_run_all_asks_for_all_of_them(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, checkpoints: Path, tmp_path: Path
) -> None:
    asked: list[str] = []

    def ask(self: Computing, what: Computation, **more: str) -> str:
        assert what.given["hash"] == checkpoint_hash(checkpoints / "tiny")
        assert more["visitor"]
        asked.append(what.given["what"])
        return what.key

    monkeypatch.setattr(Computing, "ask", ask)
    app = visit(PAGE, sentences=str(N))
    next(b for b in app.button if b.label == "Run all").click().run()
    assert not app.exception
    assert asked == [f"finding-{name}" for name in FINDINGS]
