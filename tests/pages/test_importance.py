"""Importance of heads: a preview, the measured importance, ablation and curves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, messages, numbers, visible_text
from tests.pages.research_visits import run_report, store_result
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.figures.state import KINDS

N = 10
main_text = partial(visible_text, kinds=("markdown", "caption"))


@pytest.fixture(scope="module")
def results(checkpoints: Path) -> dict[str, dict[str, Any]]:
    """Return the results of the page's reports, by key."""
    report_names = ("importance", "ablation")
    reports = [
        run_report(checkpoints, Corpus.bundled(N), report_name) for report_name in report_names
    ]
    return {key: result for result, key in reports}


@pytest.fixture
def stored_reports(results: dict[str, dict[str, Any]], tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Store the results where the page looks for them."""
    for key, result in results.items():
        store_result(tmp_path / "runs", result, key)
    return {result["what"]: result for result in results.values()}


def open_experiment(visit: Visit, **params: str) -> AppTest:
    return visit("pages/research.py", **{"experiment": "importance", "sentences": str(N), **params})


def test_a_preview_is_drawn_before_anything_is_measured(
    visit: Visit, translator: Translator
) -> None:
    app = open_experiment(visit)
    assert not messages(app)
    assert "Measure the heads" in [element.label for element in app.button]
    figures = charts(app)
    assert len(figures) == 3
    assert "Preview" in main_text(app)
    sample = evenly_spaced(Corpus.bundled(N), 8)
    preview = gradient_importances(translator, sample)["sentence"]
    largest = max(preview.values[kind].max() for kind in KINDS)
    for kind, figure in zip(KINDS, figures, strict=True):
        drawn = numbers(figure["data"][0]["z"]).reshape(2, 4)
        np.testing.assert_allclose(drawn, preview.values[kind] / largest, atol=1e-6)


def test_measured_importance_has_three_grids_each_and_two_definitions(
    visit: Visit, stored_reports: dict[str, dict[str, Any]]
) -> None:
    app = open_experiment(visit)
    assert not messages(app)
    assert len(charts(app)) == 6  # gradient and ablation: three kinds each
    assert "Preview" not in main_text(app)
    worse = sum(row["loss_low"] > 0 for row in stored_reports["ablation"]["table"])
    assert f"Ablating **{worse}** of 24 heads significantly increases the loss" in main_text(app)
    assert "equation 2" in main_text(app)
    table = [row for row in stored_reports["importance"]["table"] if row["kind"] == "encoder"]

    def check_drawn(column: str) -> None:
        drawn = numbers(charts(app)[0]["data"][0]["z"]).ravel()
        np.testing.assert_allclose(drawn, [row[column] for row in table], atol=1e-6)

    app.toggle(key="importance-per-layer").set_value(True).run()
    check_drawn("normalised")
    menu = next(box for box in app.get("button_group") if box.label == "One gate for each")
    menu.set_value("position").run()
    assert not app.exception
    assert "what the code of Michel" in main_text(app)
    check_drawn("position_normalised")
