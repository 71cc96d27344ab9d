"""Head roles: the corpus, the measurement, the grid and the card."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import (
    Visit,
    charts,
    component_data,
    measure,
    messages,
    view,
    visible_text,
)
from tests.pages.research_visits import button, grid, run_report, store_result
from transformer.analysis.corpora import Corpus
from transformer.jobs.computation import RESULTS_FOLDER
from transformer.measures.naming import head_name
from transformer.text.files import write_json
from transformer.training.recipe import make_run_config
from transformer.ui.pages.research import GRID_MEASURES
from transformer.ui.pages.research.roles import format_measure

PAGE = "pages/research.py"
LINES = ("She hides a boat.\tElle cache un bateau.\t0-0 1-1 2-2 3-3", "A pilot.\tUn pilote.\t0-0")


@pytest.fixture(scope="module")
def report_and_key(checkpoints: Path) -> tuple[dict[str, Any], str]:
    return run_report(checkpoints, Corpus.bundled(12), "heads")


@pytest.fixture
def stored_report(report_and_key: tuple[dict[str, Any], str], tmp_path: Path) -> dict[str, Any]:
    store_result(tmp_path / "runs", *report_and_key)
    return report_and_key[0]


def open_experiment(visit: Visit, **params: str) -> AppTest:
    return visit(PAGE, **{"experiment": "roles", "sentences": "12", "exact": "1", **params})


def test_a_measurement_is_started_finished_and_found_after_a_reload(visit: Visit) -> None:
    app = open_experiment(visit, corpus="upload")
    assert "paste sentences" in app.info[0].value
    app.text_area(key="corpus-text").set_value("\n".join(LINES)).run()
    assert "Your text: 2 sentences, 2 with gold links." in visible_text(app)
    assert "Measures all heads" in app.info[0].value
    measure(app, "Measure")
    assert not messages(app)
    assert re.search(r"24 heads (has|have) a role", visible_text(app))
    assert not [element for element in app.button if element.label in ("Measure", "Cancel")]
    assert app.query_params["corpus"] == "upload"


def test_an_example_of_the_corpus_is_shortened(visit: Visit) -> None:
    app = open_experiment(visit, corpus="upload")
    app.text_area(key="corpus-text").set_value("cat " * 100_000).run()
    assert "cat cat  …" in app.code[0].value
    assert len(app.code[0].value) < 1000


def test_a_failed_measurement_shows_the_reason(
    visit: Visit, report_and_key: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / RESULTS_FOLDER / report_and_key[1]
    folder.mkdir(parents=True)
    reason = "ours, sentence 1: the text is *too* long"
    write_json(folder / "state.json", {"status": "failed", "reason": reason})
    app = open_experiment(visit)
    assert messages(app) == [
        "This could not be measured: ours, sentence 1: the text is *too* long."
    ]
    assert button(app, "Try again")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\tb\t0-0\nc\td\t0-7", "line 2: the link 0-7 is outside"),
        ("a\tb\nc", "line 2: it has no tab"),
        ("a\n\nb", "line 2: the line has no sentence"),
        ("a b c\n" * 200_000, "1,200,000 bytes; the maximum is 1,000,000"),
    ],
)
def test_an_invalid_upload_is_rejected_in_one_sentence(
    visit: Visit, text: str, reason: str
) -> None:
    app = open_experiment(visit, corpus="upload")
    app.text_area(key="corpus-text").set_value(text).run()
    assert reason in messages(app)[0]
    assert all("kinds" not in data for data in component_data(app))


def test_all_heads_have_a_cell_with_their_measure(
    visit: Visit, stored_report: dict[str, Any]
) -> None:
    app = open_experiment(visit, colour="distance", kind="decoder", layer="1", head="2")
    data = grid(app)
    assert data["selected"] == {"kind": "decoder", "layer": 1, "head": 2}
    max_distance = max(row["distance"] for row in stored_report["table"])
    for kind, grid_data in data["kinds"].items():
        for row in stored_report["table"]:
            if row["kind"] == kind:
                level = grid_data["levels"][row["layer"]][row["head"]]
                assert level == pytest.approx(row["distance"] / max_distance)
                description = grid_data["descriptions"][row["layer"]][row["head"]]
                assert f"{head_name(row['layer'], row['head'])}: " in description
                assert format_measure("distance", row["distance"]) in description
    n_without_role = Counter(card["role"]["group"] for card in stored_report["cards"])["none"]
    if n_without_role == 24:
        assert "None of the 24 heads has a role here" in visible_text(app)
    else:
        assert f"{24 - n_without_role} of 24 heads have a role" in visible_text(app)


def test_the_card_has_the_heads_numbers_and_its_offsets(
    visit: Visit, stored_report: dict[str, Any]
) -> None:
    app = open_experiment(visit, kind="encoder", layer="1", head="3")
    index = next(
        n
        for n, card in enumerate(stored_report["cards"])
        if (card["kind"], card["layer"], card["head"]) == ("encoder", 1, 3)
    )
    card = stored_report["cards"][index]
    page_text = visible_text(app)
    assert "Encoder self-attention, layer 2, head 4: " in page_text
    for name, value in card["measures"].items():
        if name in GRID_MEASURES and value is not None:
            chance = format_measure(name, stored_report["chance"]["encoder"].get(name))
            label = html.escape(GRID_MEASURES[name])
            row = f">{label}</th><td>{format_measure(name, value)}</td><td>{chance}</td>"
            assert row in page_text
    bars = charts(app)[0]["data"][0]
    total = sum(rows for _, rows in stored_report["offsets"][index])
    assert bars["customdata"][0][1] == stored_report["offsets"][index][0][1]
    assert total == sum(rows for _, rows in bars["customdata"])
    assert sum(1 for rule in stored_report["rules"].values() if rule in page_text) >= 5


def test_a_run_is_measured_over_its_own_validation_pairs(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "mine"
    shutil.copytree(checkpoints / "tiny", run / "checkpoint")
    config = make_run_config("copy", options={"n_train": 20, "n_valid": 5}, title="Mine").to_dict()
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    app = open_experiment(visit, model="mine")
    assert "Validation pairs of the run: 5 sentences, 5 with gold links." in visible_text(app)
    assert view(app).corpus == ""
    # A model without a run has none; the address is corrected.
    app = open_experiment(visit, corpus="run")
    assert "Bundled sentences: 12 sentences" in visible_text(app)
    assert view(app).corpus == ""
