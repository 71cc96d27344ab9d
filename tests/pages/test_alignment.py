"""Word alignment: the best head, and one sentence with its gold links."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages, view, visible_text
from tests.pages.research_visits import button
from transformer.analysis.alignment.aligner_head import AlignerHead, GoldErrors, save_aligner_head
from transformer.analysis.alignment.error_rate import alignment_error
from transformer.analysis.corpora import Corpus

N = 60
TEXT, TARGET = "She hides a boat.", "Elle cache un bateau."
HEAD = {"layer": "1", "head": "2", "score_kind": "norms", "target_row": "input"}


def open_experiment(visit: Visit, *folder: Path, **params: str) -> AppTest:
    fields = {"experiment": "alignment", "sentences": str(N), "text": TEXT, "method": "forced"}
    return visit(
        "pages/research.py", *folder, **{**fields, "target": TARGET, "exact": "1", **params}
    )


@pytest.fixture
def measured_folder(checkpoints: Path, tmp_path: Path) -> Path:
    """Return a folder of checkpoints in which `tiny` has an aligner head."""
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    rates = {"weights-output": 0.5, "weights-input": 0.25, "norms-output": 0.6, "norms-input": 0.3}
    gold = GoldErrors("gold set", "its <b> annotators", 1_234, rates, 0.2, 0.3, diagonal=0.7)
    head = AlignerHead(1, 2, "weights", "input", "input", (gold,))
    save_aligner_head(folder / "tiny", head)
    return folder


def test_the_best_head_is_compared_and_opened(visit: Visit, measured_folder: Path) -> None:
    app = open_experiment(visit, measured_folder)
    assert not messages(app)
    current = view(app)
    selected = (current.kind, current.score_kind, current.target_row, current.layer, current.head)
    assert selected == ("cross", "weights", "input", 1, 2)
    (table,) = [box.proto.body for box in app.get("html") if "awesome-align" in box.proto.body]
    assert "Best head: Layer 2, head 3" in table
    for cell in ("75.0% (95%: 70.0% to 80.0%)", "30.0%", "89.5%", "95.9%"):
        assert f"<td>{cell}</td>" in table
    assert "its &lt;b&gt; annotators; 1,234 pairs" in table
    assert "**50.0%** at the predicting position and **75.0%** at the" in visible_text(app)
    app = open_experiment(visit, measured_folder, kind="encoder", layer="0", head="1")
    assert (view(app).kind, view(app).layer, view(app).head) == ("cross", 1, 2)
    app = open_experiment(visit, measured_folder, kind="cross", layer="0", head="1")
    assert (view(app).layer, view(app).head) == (0, 1)


def test_sentences_with_human_made_links_are_a_corpus(visit: Visit) -> None:
    """The tiny model's card names no languages, so it counts as English to French."""
    app = open_experiment(visit, corpus="linked", sentences="12", **HEAD)
    assert not messages(app)
    assert (
        "Bundled sentences with human-made links, English to French: 12 sentences, 12 with"
        in visible_text(app)
    )
    sentence_menu = next(box for box in app.selectbox if "with gold links" in box.label)
    assert len(sentence_menu.options) == 12


def test_a_sentence_of_the_corpus_has_its_gold_links(visit: Visit) -> None:
    app = open_experiment(visit, **HEAD)
    linked_sentences = [
        sentence for sentence in Corpus.bundled(N).sentences if sentence.gold is not None
    ]
    box = next(box for box in app.selectbox if f"{len(linked_sentences)} sentences" in box.label)
    box.set_value(1).run()
    assert (view(app).text, view(app).target) == (
        linked_sentences[1].source,
        linked_sentences[1].target,
    )
    agreement = re.search(r"human-made links of this sentence in \*\*([\d.]+)%", visible_text(app))
    links = app.dataframe[0].value.query("linked")[["source", "target"]].itertuples(index=False)
    predicted, gold = {tuple(link) for link in links}, linked_sentences[1].gold
    assert gold is not None
    assert agreement is not None
    expected = 1 - alignment_error(predicted, gold.sure, gold.possible)
    assert float(agreement[1]) == pytest.approx(100 * expected, abs=0.05)
    button(app, "Use the model's translation").click().run()
    assert (view(app).method, view(app).target) == ("greedy", "")
