"""Word alignment: the leaderboard, one sentence, and links typed by the visitor."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, messages, run_program, view, visible_text
from tests.pages.lab_visits import button, grid, run_report, store_result
from transformer import Translator
from transformer.analysis.alignment.sentence_alignment import align_words
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations

N = 60
TEXT, TARGET = "She hides a boat.", "Elle cache un bateau."
HEAD = {"layer": "1", "head": "2", "score_kind": "norms", "target_row": "input"}


@pytest.fixture(scope="module")
def report_and_key(checkpoints: Path) -> tuple[dict[str, Any], str]:
    return run_report(checkpoints, Corpus.bundled(N), "alignment")


@pytest.fixture
def stored_report(report_and_key: tuple[dict[str, Any], str], tmp_path: Path) -> dict[str, Any]:
    store_result(tmp_path / "runs", *report_and_key)
    return report_and_key[0]


def open_lab(visit: Visit, **params: str) -> AppTest:
    fields = {"lab": "align", "sentences": str(N), "text": TEXT, "method": "forced"}
    return visit("pages/lab.py", **{**fields, "target": TARGET, "exact": "1", **params})


def test_the_leaderboard_shows_the_report(visit: Visit, stored_report: dict[str, Any]) -> None:
    app = open_lab(visit, **HEAD)
    assert not messages(app)
    rates = {row["aligner"]: row["aer"] for row in reversed(stored_report["table"])}
    assert "Hand-aligned** has real" in visible_text(app)
    metrics = {metric.label.split(":")[0]: metric.value for metric in app.metric}
    assert metrics["Best head"] == f"{100 * (1 - rates['head']):.1f}%"
    assert metrics["Diagonal"] == f"{100 * (1 - rates['diagonal']):.1f}%"
    assert metrics["Random"] == f"{100 * (1 - rates['chance']):.1f}%"
    data = grid(app)
    assert data["chosen"] == ["norms-input", 1, 2]
    for row in stored_report["table"]:
        if row["aligner"] == "head":
            head_grid = next(
                grid_data
                for grid_data in data["grids"]
                if grid_data["name"] == f"{row['by']}-{row['to']}"
            )
            head = int(row["layer"]), int(row["head"])
            text = head_grid["descriptions"][head[0]][head[1]]
            assert text.endswith(f"{100 * (1 - row['aer']):.1f}% agreement")
            assert head_grid["marks"][head[0]][head[1]] == f"{100 * (1 - row['aer']):.0f}"


def test_the_python_code_gives_the_same(visit: Visit, stored_report: dict[str, Any]) -> None:
    app = open_lab(visit, **HEAD)
    leaderboard_code, head_code = [code.value for code in app.code][-2:]
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run_program(leaderboard_code, namespace)
        run_program(head_code, namespace)
    assert "chance" in printed.getvalue()
    rates = [row["aer"] for row in stored_report["table"]]
    assert namespace["board"].table["aer"].tolist() == pytest.approx(rates)
    assert namespace["alignment"].target == ("Elle", "cache", "un", "bateau.")
    assert namespace["alignment"].target_row == "input"


def test_sentences_with_human_made_links_are_a_corpus(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    """The tiny model's card names no languages, so it counts as English to French."""
    corpus = Corpus.linked("fr").first(12)
    result, key = run_report(checkpoints, corpus, "alignment")
    store_result(tmp_path / "runs", result, key)
    app = open_lab(visit, corpus="linked", sentences="12", **HEAD)
    assert not messages(app)
    assert (
        "Bundled sentences with human-made links, English to French: 12 sentences, 12 with"
        in visible_text(app)
    )
    best = next(row for row in result["table"] if row["aligner"] == "head")
    assert app.metric[0].value == f"{100 * (1 - best['aer']):.1f}%"
    assert "Corpus.linked('fr').first(12)" in next(
        code.value for code in app.code if "leaderboard(" in code.value
    )
    # This caption is about links made by the grammar, which this corpus does not have.
    assert "Hand-aligned** has real" not in visible_text(app)
    sentence_menu = next(box for box in app.selectbox if "with gold links" in box.label)
    assert len(sentence_menu.options) == 12


def test_a_first_visit_opens_the_best_head(visit: Visit, stored_report: dict[str, Any]) -> None:
    best = next(row for row in stored_report["table"] if row["aligner"] == "head")
    current = view(open_lab(visit))
    selected = (current.score_kind, current.target_row, current.layer, current.head)
    assert selected == (best["by"], best["to"], best["layer"], best["head"])


def test_the_best_head_replaces_the_default_head(
    visit: Visit, report_and_key: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    app = open_lab(visit)  # nothing is measured yet
    assert (view(app).layer, view(app).head) == (0, 0)
    store_result(tmp_path / "runs", *report_and_key)
    app.run()
    best = next(row for row in report_and_key[0]["table"] if row["aligner"] == "head")
    current = view(app)
    selected = (current.score_kind, current.target_row, current.layer, current.head)
    assert selected == (best["by"], best["to"], best["layer"], best["head"])
    app.run()
    assert (view(app).layer, view(app).head) == selected[2:]


def test_a_head_of_another_kind_is_not_used_as_an_aligner(
    visit: Visit, stored_report: dict[str, Any]
) -> None:
    best = next(row for row in stored_report["table"] if row["aligner"] == "head")
    current = view(open_lab(visit, kind="encoder", layer="0", head="1"))
    selected = (current.kind, current.score_kind, current.target_row, current.layer, current.head)
    assert selected == ("cross", best["by"], best["to"], best["layer"], best["head"])


def test_the_grid_and_the_picture_use_the_same_head(
    visit: Visit, stored_report: dict[str, Any]
) -> None:
    heads = [row for row in stored_report["table"] if row["aligner"] == "head"]
    app = open_lab(visit, **HEAD)
    head_row = next(
        row for row in heads
        if (row["by"], row["to"], row["layer"], row["head"]) == ("norms", "input", 1, 2)
    )  # fmt: skip
    assert (
        "Shown below: **layer 1, head 2**, measured by norms, at the reading position"
        in visible_text(app)
    )
    assert f"{100 * (1 - head_row['aer']):.1f}% agreement" in visible_text(app)
    button(app, "Show the best head").click().run()
    current = view(app)
    assert (current.score_kind, current.target_row, current.layer, current.head) == tuple(
        heads[0][name] for name in ("by", "to", "layer", "head")
    )
    assert "Show the best head" not in [element.label for element in app.button]
    assert grid(app)["chosen"] == [
        f"{current.score_kind}-{current.target_row}",
        current.layer,
        current.head,
    ]


def test_without_gold_links_one_sentence_is_still_aligned(visit: Visit) -> None:
    app = open_lab(visit, sentences="3", **HEAD)
    assert "have no gold links" in app.info[0].value
    assert len(app.get("plotly_chart")) == 2


def test_the_head_is_scored_by_the_typed_links(visit: Visit, translator: Translator) -> None:
    app = open_lab(visit, sentences="3", **HEAD)
    links_field = next(box for box in app.text_input if "source-target" in box.label)
    links_field.set_value("0-0 1-1 2?2 3-3").run()
    assert view(app).links == "0-0,1-1,2p2,3-3"
    trace = translator.trace(TEXT, target=TARGET)
    alignment = align_words(translator.model, trace, 1, 2, "norms", "input")
    sure = frozenset({(0, 0), (1, 1), (3, 3)})
    gold = GoldAnnotations(alignment.source, alignment.target, sure, frozenset({(2, 2)}))
    assert app.metric[0].value == f"{100 * (1 - alignment.error(gold)):.1f}%"
    names = [trace["name"] for trace in charts(app)[0]["data"]
             if "name" in trace]  # fmt: skip
    assert names[:2] == ["gold links", "possible gold links"]
    # A click removes a link, and another adds one.
    pills = next(box for box in app.get("button_group") if box.label == "Linked source words")
    pills.set_value([2]).run()
    assert view(app).links == "1-1,2-0,2p2,3-3"
    # Links belong to the words of one sentence.
    app.text_input(key="pages/lab.py:target").set_value("Elle cache.").run()
    assert view(app).links == ""


@pytest.mark.parametrize(
    ("typed", "reason"),
    [("0-9", "outside the sentences' 4 source and 4 target"), ("0:1", "is not a link")],
)
def test_invalid_links_are_rejected(visit: Visit, typed: str, reason: str) -> None:
    app = open_lab(visit, sentences="3", **HEAD)
    next(box for box in app.text_input if "source-target" in box.label).set_value(typed).run()
    assert reason in messages(app)[0]
    assert view(app).links == ""


def test_address_links_that_do_not_fit_the_sentence_are_ignored(visit: Visit) -> None:
    app = open_lab(visit, sentences="3", links="0-0,9-1", **HEAD)
    assert "Your links are ignored" in messages(app)[0]
    assert len(app.get("plotly_chart")) == 2


def test_a_sentence_of_the_corpus_has_its_gold_links(
    visit: Visit, stored_report: dict[str, Any]
) -> None:
    app = open_lab(visit, **HEAD)
    linked_sentences = [
        sentence for sentence in Corpus.bundled(N).sentences if sentence.gold is not None
    ]
    box = next(box for box in app.selectbox if f"{len(linked_sentences)} sentences" in box.label)
    box.set_value(1).run()
    assert (view(app).text, view(app).target) == (
        linked_sentences[1].source,
        linked_sentences[1].target,
    )
    assert "Agreement of this head on this sentence" in [metric.label for metric in app.metric]
    button(app, "Use the model's translation").click().run()
    assert (view(app).method, view(app).target) == ("greedy", "")


def test_the_shift_section_describes_both_rows(visit: Visit, checkpoints: Path) -> None:
    app = open_lab(visit, sentences="3", **{**HEAD, "score_kind": "weights"}, step="1000")
    assert "For **bateau.**, the highest score of the predicting position" in visible_text(app)
    bars = charts(app)[1]["data"]
    assert [bar["name"] for bar in bars] == [
        "reads un, writes bateau.",
        "reads bateau., writes &lt;/s&gt;",
    ]
    box = next(element for element in app.selectbox if element.label == "Word")
    box.set_value(0).run()
    assert view(app).step == 0
    assert "For **Elle**, the highest score of the predicting position" in visible_text(app)


@pytest.mark.parametrize("text", ["   ", "the lamp " * 2500, "\N{GRINNING FACE} <b>x</b>"])
def test_unusual_texts_are_aligned(visit: Visit, text: str) -> None:
    app = open_lab(visit, sentences="3", text=text, **HEAD)
    assert not app.exception
    assert bool(messages(app)) != bool(app.get("plotly_chart"))


def test_a_text_of_many_words_is_not_drawn(visit: Visit) -> None:
    app = open_lab(visit, sentences="3", text="the lamp " * 40, **HEAD)
    assert "more than 64 words" in app.info[-1].value
