"""The map of queries and keys on the page: drawn, coloured, a point that is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, measure, messages, told, view
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.ui.lab import DOTS

PAGE = "pages/lab.py"
HEAD = {"lab": "map", "kind": "encoder", "layer": "1", "head": "2", "sentences": "3"}


def figure(app: AppTest) -> dict[str, Any]:
    (found,) = charts(app)
    return found


def test_a_map_is_kept_coloured_and_looked_into(visit: Visit, translator: Translator) -> None:
    app = visit(PAGE, **HEAD)
    measure(app, "Draw the map")
    assert not messages(app)
    assert {one["name"] for one in figure(app)["data"]} == {"query", "key"}
    assert "Click a disc" in told(app)
    for dots in DOTS:
        app = visit(PAGE, **HEAD, dots=dots, exact="1")  # as after a reload
        drawn = figure(app)
        assert "of the variance" in drawn["layout"]["xaxis"]["title"]["text"]
        assert len(drawn["data"]) >= 2
        assert view(app).dots == dots
    app = visit(PAGE, **HEAD, point="q0.1", exact="1")
    source = Corpus.bundled(3).sentences[0].source
    trace = translator.trace(source, max_len=2)
    row = trace.weights("encoder", 1)[2, 1]
    lines = [one for one in figure(app)["data"] if one.get("mode") == "lines"]
    assert len(lines) == (row >= 0.02).sum()
    text = told(app)
    for token, weight in zip(trace.src_tokens, row, strict=True):
        escaped = token.replace("<", "&lt;").replace(">", "&gt;")
        assert f'{escaped}</bdi> <small style="opacity:.75">{weight:.0%}<' in text
    assert "attends to" in text
    # A key: how much each query gives it.
    app = visit(PAGE, **HEAD, point="k0.1")
    assert "is attended to by" in told(app)
    assert f"{trace.weights('encoder', 1)[2, 0, 1]:.0%}" in told(app)
    assert np.isfinite(row).all()


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_other_kinds_and_a_point_that_is_not_there(visit: Visit, kind: str) -> None:
    app = visit(PAGE, **{**HEAD, "kind": kind}, point="q99.99")
    measure(app, "Draw the map")
    assert not messages(app)
    assert "Click a disc" in told(app)
    assert figure(app)["data"]


def test_scores_that_are_no_products_are_told(
    visit: Visit, tmp_path: Path, vocabulary: Vocabulary
) -> None:
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary), score="additive")
    folder = tmp_path / "checkpoints"
    save_checkpoint(folder / "additive", Transformer(config).eval(), vocabulary, "# A model\n")
    app = visit(PAGE, folder, **HEAD)
    assert not messages(app)
    assert "by v·tanh(q + k), which no distance tells" in told(app)
    assert not [one for one in app.button if one.label == "Draw the map"]
