"""Pruning: importance, ablation, the pruning controls, and the link to the switches."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, messages, view, visible_text
from tests.pages.lab_visits import button, run_report, store_result
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.importance.pruning import random_order
from transformer.analysis.interventions.switching import switched_off
from transformer.ui.pages.lab.pruning import MAX_EXTRA_TOKENS

TEXT = "The baker hides books."
N = 10
main_text = partial(visible_text, kinds=("markdown", "caption"))


@pytest.fixture(scope="module")
def results(checkpoints: Path) -> dict[str, dict[str, Any]]:
    """Return the results of the page's reports, by key."""
    report_names = ("importance", "ablation", "pruning-kinds")
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


def open_lab(visit: Visit, **params: str) -> AppTest:
    fields = {"lab": "pruning", "text": TEXT, "sentences": str(N), **params}
    return visit("pages/lab.py", **fields)


def test_pruning_works_before_anything_is_measured(visit: Visit, translator: Translator) -> None:
    app = visit("pages/lab.py", text=TEXT, sentences=str(N))  # the lab's first experiment
    assert not messages(app)
    assert view(app).lab == "pruning"
    assert "Measure the heads" in [element.label for element in app.button]
    assert len(app.get("plotly_chart")) == 3  # a preview, from a few sentences
    assert "Preview" in main_text(app)
    app.slider[1].set_value(3).run()
    corpus = Corpus.bundled(N)
    preview = gradient_importances(translator, evenly_spaced(corpus, 8))["sentence"].normalised()
    pruned = [head for head in preview.order() if head[0] == "decoder"][:3]
    button(app, "Show what changed").click().run()
    assert sorted(view(app).off.split(",")) == sorted(f"d{layer}.{h}" for _, layer, h in pruned)


def test_an_old_address_with_switches_opens_them(visit: Visit) -> None:
    app = visit("pages/lab.py", text=TEXT, off="c1")
    assert view(app).lab == "switch"
    assert not messages(app)


@pytest.mark.usefixtures("stored_reports")
def test_a_button_prunes_until_the_translation_changes(
    visit: Visit, translator: Translator, results: dict[str, dict[str, Any]]
) -> None:
    app = open_lab(visit)
    table = next(result["table"] for result in results.values() if result["what"] == "importance")
    by_importance = sorted(table, key=lambda row: row["normalised"])
    unpruned = translator.translate(TEXT, candidates=1)

    def translate(kind: str, n_pruned: int) -> str:
        order = [
            (row["kind"], row["layer"], row["head"]) for row in by_importance if row["kind"] == kind
        ]
        hooks = switched_off(translator.model.config, order[:n_pruned])
        max_len = len(unpruned.ids) + MAX_EXTRA_TOKENS
        return translator.translate(TEXT, hooks=hooks, candidates=1, max_len=max_len).text

    n_changed = 0
    for kind in ("encoder", "decoder", "cross"):
        app.button(key=f"break-{kind}").click().run()
        assert not app.exception
        pruned_counts = {
            other_kind: getattr(view(app), f"pruned_{other_kind}")
            for other_kind in ("encoder", "decoder", "cross")
        }
        pruned_of_kind = pruned_counts.pop(kind)
        assert not any(pruned_counts.values())
        if translate(kind, pruned_of_kind) != unpruned.text:
            n_changed += 1
            assert pruned_of_kind == 1 or translate(kind, pruned_of_kind - 1) == unpruned.text
            assert "The translation has changed" in main_text(app)
        else:
            assert pruned_of_kind == 8
            assert "The translation is unchanged" in main_text(app)
    assert n_changed


def test_measured_importance_has_three_grids_and_curves(
    visit: Visit, stored_reports: dict[str, dict[str, Any]]
) -> None:
    app = open_lab(visit)
    assert not messages(app)
    figures = charts(app)
    assert len(figures) == 9  # gradient, ablation, curves: three kinds each
    worse = sum(row["loss_low"] > 0 for row in stored_reports["ablation"]["table"])
    assert f"Ablating **{worse}** of 24 heads significantly increases the loss" in main_text(app)
    assert "With all heads" in main_text(app)
    assert not app.metric  # nothing is pruned


def test_importance_has_two_definitions(
    visit: Visit, stored_reports: dict[str, dict[str, Any]]
) -> None:
    app = open_lab(visit, pruning_order="position", pruned_encoder="3")
    assert not messages(app)
    assert "equation 2" in main_text(app)
    menu = next(box for box in app.get("button_group") if box.label == "Gates per")
    before = charts(app)[0]["data"][0]
    menu.set_value("position").run()
    assert not app.exception
    assert "what the code of Michel" in main_text(app)
    after = charts(app)[0]["data"][0]
    assert before["z"] != after["z"]
    by_importance = sorted(
        (row for row in stored_reports["importance"]["table"] if row["kind"] == "encoder"),
        key=lambda row: row["position_normalised"],
    )
    button(app, "Show what changed").click().run()
    pruned = [f"e{row['layer']}.{row['head']}" for row in by_importance[:3]]
    assert sorted(view(app).off.split(",")) == sorted(pruned)


@pytest.mark.usefixtures("stored_reports")
def test_the_address_determines_the_pruned_heads(visit: Visit, translator: Translator) -> None:
    app = open_lab(visit, pruned_cross="8", pruned_encoder="3", pruning_order="random", seed="4")
    assert not messages(app)
    config = translator.model.config
    kinds = [(k, n, h) for k in ("cross", "decoder", "encoder") for n in (0, 1) for h in range(4)]
    order = random_order(kinds, 4)
    pruned = [h for h in order if h[0] == "cross"]
    pruned += [h for h in order if h[0] == "encoder"][:3]
    max_len = len(translator.translate(TEXT, candidates=1).ids) + MAX_EXTRA_TOKENS
    translation = translator.translate(TEXT, hooks=switched_off(config, pruned), max_len=max_len)
    expected = translation.text if translation.finished else f"{translation.text} …"
    page_text = re.sub(r"\\(.)", r"\1", main_text(app))
    assert f"Without 11 heads: **{expected}" in page_text
    change = float(app.metric[0].delta)
    assert change != 0
    button(app, "Show what changed").click().run()
    off = view(app).off.split(",")
    assert view(app).lab == "switch"
    assert sorted(off) == sorted(f"{kind[0]}{layer}.{head}" for kind, layer, head in pruned)
    assert not app.exception


@pytest.mark.usefixtures("stored_reports")
def test_sliders_set_the_address_and_can_be_reset(visit: Visit) -> None:
    app = open_lab(visit, pruned_decoder="4000")
    assert view(app).pruned_decoder == 8  # all heads
    app.slider[0].set_value(2).run()
    assert view(app).pruned_encoder == 2
    button(app, "Restore all heads").click().run()
    assert (view(app).pruned_encoder, view(app).pruned_decoder) == (0, 0)
    for text in ("  ", "long " * 1000):
        app.text_input[0].set_value(text).run()
        assert len(messages(app)) == 1
        assert len(app.get("plotly_chart")) == 9  # the rest of the page stays
    app.text_input[0].set_value("<b>x</b>").run()
    assert not messages(app)
    assert not app.exception
