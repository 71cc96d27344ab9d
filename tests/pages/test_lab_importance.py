"""Which heads matter: what was measured, the pruning game, and the way to the switches."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, messages, told, view
from tests.pages.lab_visits import kept, made
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.importance.pruning import random_order
from transformer.analysis.interventions.switching import switched_off
from transformer.ui.pages.lab.pruning import MAX_EXTRA_TOKENS

TEXT = "The baker hides books."
N = 10
texts = partial(told, kinds=("markdown", "caption"))


@pytest.fixture(scope="module")
def results(checkpoints: Path) -> dict[str, dict[str, Any]]:
    """What the passes that the page asks for come to, by their keys."""
    asked = ("importance", "ablation", "pruning-kinds")
    passes = [made(checkpoints, Corpus.bundled(N), what) for what in asked]
    return {key: found for found, key in passes}


@pytest.fixture
def measured(results: dict[str, dict[str, Any]], tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The page finds them made already."""
    for key, found in results.items():
        kept(tmp_path / "runs", found, key)
    return {found["what"]: found for found in results.values()}


def opened(visit: Visit, **params: str) -> AppTest:
    given = {"lab": "matter", "text": TEXT, "sentences": str(N), **params}
    return visit("pages/lab.py", **given)


def test_the_game_is_there_before_anything_is_measured(
    visit: Visit, translator: Translator
) -> None:
    app = visit("pages/lab.py", text=TEXT, sentences=str(N))  # the lab begins with it
    assert not messages(app)
    assert view(app).lab == "matter"
    assert "Measure the heads" in [button.label for button in app.button]
    assert len(app.get("plotly_chart")) == 3  # a preview, from a few sentences
    assert "Preview" in texts(app)
    app.slider[1].set_value(3).run()
    corpus = Corpus.bundled(N)
    few = gradient_importances(translator, evenly_spaced(corpus, 8))["sentence"].normalised()
    gone = [head for head in few.order() if head[0] == "decoder"][:3]
    next(b for b in app.button if b.label == "Show what changed").click().run()
    assert sorted(view(app).off.split(",")) == sorted(f"d{layer}.{h}" for _, layer, h in gone)


def test_an_old_address_with_switches_opens_them(visit: Visit) -> None:
    app = visit("pages/lab.py", text=TEXT, off="c1")
    assert view(app).lab == "switch"
    assert not messages(app)


@pytest.mark.usefixtures("measured")
def test_a_button_takes_away_as_many_as_change_the_translation(
    visit: Visit, translator: Translator, results: dict[str, dict[str, Any]]
) -> None:
    app = opened(visit)
    table = next(made["table"] for made in results.values() if made["what"] == "importance")
    rising = sorted(table, key=lambda row: row["normalised"])
    whole = translator.translate(TEXT, candidates=1)

    def said(kind: str, gone: int) -> str:
        order = [(row["kind"], row["layer"], row["head"]) for row in rising if row["kind"] == kind]
        hooks = switched_off(translator.model.config, order[:gone])
        most = len(whole.ids) + MAX_EXTRA_TOKENS
        return translator.translate(TEXT, hooks=hooks, candidates=1, max_len=most).text

    broken = 0
    for kind in ("encoder", "decoder", "cross"):
        app.button(key=f"break-{kind}").click().run()
        assert not app.exception
        left = {one: getattr(view(app), f"less_{one}") for one in ("encoder", "decoder", "cross")}
        gone = left.pop(kind)
        assert not any(left.values())
        if said(kind, gone) != whole.text:
            broken += 1
            assert gone == 1 or said(kind, gone - 1) == whole.text
            assert "The translation has changed" in texts(app)
        else:
            assert gone == 8
            assert "The translation is unchanged" in texts(app)
    assert broken


def test_what_was_measured_is_three_pictures_and_curves(
    visit: Visit, measured: dict[str, dict[str, Any]]
) -> None:
    app = opened(visit)
    assert not messages(app)
    drawn = charts(app)
    assert len(drawn) == 9  # gradient, left out, curves: three kinds each
    worse = sum(row["loss_low"] > 0 for row in measured["ablation"]["table"])
    assert f"Ablating **{worse}** of 24 heads significantly increases the loss" in texts(app)
    assert "With all heads" in texts(app)
    assert not app.metric  # nothing is gone


def test_importance_has_two_readings(visit: Visit, measured: dict[str, dict[str, Any]]) -> None:
    app = opened(visit, pruned="position", less_encoder="3")
    assert not messages(app)
    assert "equation 2" in texts(app)
    choice = next(box for box in app.get("button_group") if "One gate per" in box.label)
    before = charts(app)[0]["data"][0]
    choice.set_value("position").run()
    assert not app.exception
    assert "what the code of Michel" in texts(app)
    after = charts(app)[0]["data"][0]
    assert before["z"] != after["z"]
    rising = sorted(
        (row for row in measured["importance"]["table"] if row["kind"] == "encoder"),
        key=lambda row: row["position_normalised"],
    )
    button = next(b for b in app.button if b.label == "Show what changed")
    button.click().run()
    gone = [f"e{row['layer']}.{row['head']}" for row in rising[:3]]
    assert sorted(view(app).off.split(",")) == sorted(gone)


@pytest.mark.usefixtures("measured")
def test_pruned_heads_are_those_of_the_address(visit: Visit, translator: Translator) -> None:
    app = opened(visit, less_cross="8", less_encoder="3", pruned="random", seed="4")
    assert not messages(app)
    config = translator.model.config
    kinds = [(k, n, h) for k in ("cross", "decoder", "encoder") for n in (0, 1) for h in range(4)]
    order = random_order(kinds, 4)
    gone = [h for h in order if h[0] == "cross"]
    gone += [h for h in order if h[0] == "encoder"][:3]
    most = len(translator.translate(TEXT, candidates=1).ids) + MAX_EXTRA_TOKENS
    found = translator.translate(TEXT, hooks=switched_off(config, gone), max_len=most)
    wanted = found.text if found.finished else f"{found.text} …"
    plain = re.sub(r"\\(.)", r"\1", texts(app))
    assert f"Without 11 heads: **{wanted}" in plain
    change = float(app.metric[0].delta)
    assert change != 0
    button = next(b for b in app.button if b.label == "Show what changed")
    button.click().run()
    off = view(app).off.split(",")
    assert view(app).lab == "switch"
    assert sorted(off) == sorted(f"{kind[0]}{layer}.{head}" for kind, layer, head in gone)
    assert not app.exception


@pytest.mark.usefixtures("measured")
def test_sliders_write_the_address_and_are_put_back(visit: Visit) -> None:
    app = opened(visit, less_decoder="4000")
    assert view(app).less_decoder == 8  # all that there are
    app.slider[0].set_value(2).run()
    assert view(app).less_encoder == 2
    next(b for b in app.button if b.label == "Restore all heads").click().run()
    assert (view(app).less_encoder, view(app).less_decoder) == (0, 0)
    for text in ("  ", "long " * 1000):
        app.text_input[0].set_value(text).run()
        assert len(messages(app)) == 1
        assert len(app.get("plotly_chart")) == 9  # the rest of the page stays
    app.text_input[0].set_value("<b>x</b>").run()
    assert not messages(app)
    assert not app.exception
