"""Traces of a visitor's sentences as a dataset: requested, computed, downloaded."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, download_labels, measure, messages, run_program, view
from tests.pages.lab_visits import button
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import checkpoint_hash
from transformer.jobs.computation import Computation, dataset_computation
from transformer.jobs.computation_service import RESULTS_FOLDER
from transformer.jobs.results import FAILED
from transformer.text.files import write_json

LINES = ["She paints.", "The baker sells the lamp again."]


def open_lab(visit: Visit, **params: str) -> AppTest:
    return visit("pages/lab.py", lab="dataset", corpus="upload", **params)


def open_with_lines(visit: Visit, lines: list[str] = LINES, **params: str) -> AppTest:
    app = open_lab(visit, **params)
    return app.text_area(key="corpus-text").set_value("\n".join(lines)).run()


def computation_for(
    checkpoints: Path, lines: list[str], heads: str = "", **options: Any
) -> Computation:
    folder = checkpoints / "tiny"
    corpus = Corpus.from_lines(lines, "Your text")
    return dataset_computation(folder, checkpoint_hash(folder), corpus, heads, options)


def open_result(tmp_path: Path, computation: Computation) -> zipfile.ZipFile:
    path = tmp_path / "runs" / RESULTS_FOLDER / computation.key / computation.file
    return zipfile.ZipFile(io.BytesIO(path.read_bytes()))


def test_sentences_become_one_file(
    visit: Visit, checkpoints: Path, translator: Translator, tmp_path: Path
) -> None:
    app = open_with_lines(visit, method="beam", beam_size="2", exact="1")
    assert any("beam size 2" in caption.value for caption in app.caption)
    app.multiselect(key="dataset_heads").set_value(["c1", "e0.2"]).run()
    assert view(app).dataset_heads == "c1,e0.2"
    measure(app, "Trace all sentences")
    assert not messages(app)
    computation = computation_for(
        checkpoints, LINES, "c1,e0.2", method="beam", beam_size=2, length_penalty=0.6
    )
    traces = [translator.trace(line, beam_size=2) for line in LINES]
    with open_result(tmp_path, computation) as packed:
        translations = pd.read_parquet(packed.open("translations.parquet"))
        assert translations["text"].tolist() == [trace.text for trace in traces]
        stored = np.load(io.BytesIO(packed.read("weights.npz")), allow_pickle=False)
        first = stored["e0.2"][: stored["encoder.offsets"][1]]
        np.testing.assert_allclose(first, traces[0].weights("encoder", 0)[2].ravel(), atol=1e-5)
    assert "Download" in download_labels(app)[0]
    html = "".join(element.proto.body for element in app.get("html"))
    assert "weights.npz" in html
    assert LINES[1] in html
    folder = tmp_path / "runs" / RESULTS_FOLDER / computation.key
    assert sorted(path.name for path in folder.iterdir()) == ["dataset.zip", "lock", "result.json"]

    (checkpoints.parent / "dataset-tiny-your-text.zip").write_bytes(
        (folder / computation.file).read_bytes()
    )
    code = next(block.value for block in app.code if "zipfile" in block.value)
    namespace: dict[str, Any] = {}
    run_program(code, namespace)
    assert len(namespace["measures"]) == 2 * 24


def test_translations_in_the_input_are_traced_by_forced_decoding(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    pairs = ["She paints.\tElle peint.", "Books.\tDes livres."]
    app = open_with_lines(visit, pairs, method="beam")
    measure(app, "Trace all sentences")
    with open_result(tmp_path, computation_for(checkpoints, pairs)) as packed:
        translations = pd.read_parquet(packed.open("translations.parquet"))
    assert translations["text"].tolist() == ["Elle peint.", "Des livres."]
    assert translations["method"].tolist() == ["forced", "forced"]


@pytest.mark.usefixtures("computing_process")
def test_cancelling_leaves_no_files(visit: Visit, checkpoints: Path, tmp_path: Path) -> None:
    lines = [f"The baker sells {n} books." for n in range(1500)]
    app = open_with_lines(visit, lines, sentences="1500")
    button(app, "Trace all sentences").click().run()
    folder = (
        tmp_path
        / "runs"
        / RESULTS_FOLDER
        / computation_for(checkpoints, lines, method="greedy").key
    )
    deadline = time.monotonic() + 180
    while not [*folder.glob(".dataset.zip.*")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    app.run()
    button(app, "Cancel").click().run()
    assert not messages(app)
    while folder.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    app.run()
    assert button(app, "Trace all sentences")


def test_a_killed_computation_leaves_no_partial_file(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    folder = (
        tmp_path
        / "runs"
        / RESULTS_FOLDER
        / computation_for(checkpoints, LINES, method="greedy").key
    )
    (folder / ".dataset.zip.partial" / "dataset").mkdir(parents=True)
    write_json(folder / FAILED, {"reason": "it took too long"})
    app = open_with_lines(visit)
    assert messages(app) == ["This could not be measured: it took too long."]
    assert [path.name for path in folder.iterdir()] == [FAILED]
    measure(app, "Try again")
    assert download_labels(app)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["Fine.", "", "Books."], "Your text, line 2: the line has no sentence"),
        (["Fine.", "Books.\tLivres."], "Your text, line 2: it has a tab"),
    ],
)
def test_an_invalid_line_is_rejected_with_its_number(
    visit: Visit, lines: list[str], reason: str
) -> None:
    app = open_with_lines(visit, lines)
    assert reason in messages(app)[0]
    assert not [element for element in app.button if element.label == "Trace all sentences"]


def test_a_too_long_sentence_is_rejected_before_any_is_traced(visit: Visit) -> None:
    app = open_with_lines(visit, ["Fine.", "word " * 600])
    measure(app, "Trace all sentences", "failed")
    assert "Your text, line 2: The text has" in messages(app)[0]


def test_heads_that_the_model_does_not_have_are_removed(visit: Visit) -> None:
    app = open_lab(visit, dataset_heads="c1,e9.0")
    app.text_area(key="corpus-text").set_value(LINES[0]).run()
    assert view(app).dataset_heads == "c1"
    assert app.multiselect(key="dataset_heads").value == ["c1"]
