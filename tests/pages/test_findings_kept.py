"""The Findings page on a fresh server, with a checkpoint that brings what it was measured to do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings.beside_checkpoint import KEPT, keep
from transformer.text.files import read_json, write_json
from transformer.ui.kit.verdicts import BADGES

PAGE, N = "pages/findings.py", 12


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    """A folder of checkpoints, of which the one there has a finding beside it, 31 days after 1
    January 1970."""
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    translator, corpus = Translator.load(folder / "tiny", "cpu"), Corpus.bundled(N)
    found = [{"finding": "positional", **FINDINGS["positional"].run(translator, corpus).to_dict()}]
    path = keep(folder / "tiny", {"name": "our own", "sentences": N}, found, FINDINGS)
    write_json(path, {**read_json(path), "when": 86400 * 31})
    return folder


def texts(app: AppTest) -> str:
    found = "\n".join(box.value for box in [*app.markdown, *app.caption])
    return re.sub(r"\\(.)", r"\1", found)


def effects(app: AppTest) -> list[Any]:
    return [box for box in app.get("html") if 'class="hu-effect"' in box.proto.body]


def test_its_row_has_figures_and_says_where_they_are_from(visit: Visit, folder: Path) -> None:
    app = visit(PAGE, folder)
    assert not messages(app)
    told = texts(app)
    assert f"Came with the app: 1 Feb 1970, {N} sentences of our own" in told
    assert f"{BADGES['refuted'][1]} Refuted" in told
    assert told.count("not yet run here") == len(FINDINGS) - 1
    assert f"0 of {len(FINDINGS)} have been run over these sentences" in told
    assert "Run all" in [button.label for button in app.button]
    app.button(key="open-positional").click().run()
    assert texts(app).count("Came with the app: 1 Feb 1970") == 2
    assert len(effects(app)) == 1
    assert "Run" in [button.label for button in app.button]


def test_they_vanish_for_other_weights(visit: Visit, folder: Path) -> None:
    path = folder / "tiny" / KEPT
    write_json(path, {**read_json(path), "checkpoint": "0123456789abcdef"})
    told = texts(visit(PAGE, folder, finding="positional"))
    assert "Came with the app" not in told
    assert told.count("not yet run here") == len(FINDINGS)
