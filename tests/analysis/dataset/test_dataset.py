"""A dataset equals the traces of its single sentences, and is written completely or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from transformer import Trace, Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.dataset import files, write_dataset
from transformer.cancellation import cancelled_by
from transformer.checkpoint import checkpoint_hash
from transformer.inference.trace import WEIGHTS
from transformer.measures import measure_heads
from transformer.text import CorpusError

LINES = ("She paints.", "The baker sells the lamp again, and my aunt hides books at night.", "Hm")
CORPUS = Corpus.from_lines(LINES, "mine.txt")
HEADS = [("cross", 1, 3), ("encoder", 0, 0), ("cross", 0, 2), ("decoder", 1, 1)]
FILES = ["about.json", "measures.parquet", "steps.parquet", "translations.parquet", "weights.npz"]


@pytest.fixture(scope="module")
def traces(translator: Translator) -> list[Trace]:
    return [translator.trace(line, max_len=12) for line in LINES]


@pytest.fixture(scope="module")
def dataset(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("datasets") / "sub" / "one"
    write_dataset(translator, CORPUS, out, heads=HEADS, options={"max_len": 12})
    return out


def table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(folder / f"{name}.parquet")


def test_the_folder_has_exactly_these_files(dataset: Path) -> None:
    assert sorted(path.name for path in dataset.iterdir()) == FILES
    assert [path.name for path in dataset.parent.iterdir()] == ["one"]


def test_translations_and_steps_equal_single_traces(dataset: Path, traces: list[Trace]) -> None:
    translations, steps = table(dataset, "translations"), table(dataset, "steps")
    assert translations["sentence"].tolist() == [0, 1, 2]
    for number, trace in enumerate(traces):
        translation, line = trace.translation, translations.iloc[number]
        for name in ("source", "text", "method", "finished"):
            assert line[name] == getattr(translation, name)
        for name in ("src_tokens", "src_ids", "tokens", "ids"):
            assert tuple(line[name]) == getattr(translation, name)
        assert line["log_probability"] == pytest.approx(translation.log_probability, abs=1e-5)
        assert line["score"] == pytest.approx(translation.score, abs=1e-5)
        sentence_steps = steps[steps["sentence"] == number]
        assert sentence_steps["step"].tolist() == list(range(len(translation.ids)))
        assert tuple(sentence_steps["input_token"]) == trace.tgt_tokens
        assert tuple(sentence_steps["id"]) == translation.ids
        for (_, row), step in zip(sentence_steps.iterrows(), translation.steps, strict=True):
            assert row["probability"] == pytest.approx(step.probability, rel=1e-5)
            expected = {
                "candidate_tokens": [candidate.token for candidate in step.candidates],
                "candidate_ids": [candidate.id for candidate in step.candidates],
            }
            assert {name: list(row[name]) for name in expected} == expected
            probabilities = [candidate.probability for candidate in step.candidates]
            assert list(row["candidate_probabilities"]) == pytest.approx(probabilities, rel=1e-5)


def test_measures_have_one_row_per_sentence_and_head(dataset: Path, traces: list[Trace]) -> None:
    measures = table(dataset, "measures")
    assert list(measures.columns[:4]) == ["sentence", "kind", "layer", "head"]
    config = traces[0].config
    assert len(measures) == len(LINES) * 3 * config["n_layers"] * config["n_heads"]
    for number, trace in enumerate(traces):
        for kind in WEIGHTS:
            for layer in range(trace.n_layers):
                same_layer = (measures["kind"] == kind) & (measures["layer"] == layer)
                rows = measures[same_layer & (measures["sentence"] == number)]
                assert rows["head"].tolist() == list(range(trace.n_heads))
                expected = measure_heads(trace, kind, layer)
                for name in files.MEASURE_COLUMNS:
                    if name in expected:
                        assert rows[name].to_numpy() == pytest.approx(expected[name], abs=1e-6)
                    else:
                        assert rows[name].isna().all()


def test_weights_are_concatenated_without_padding(dataset: Path, traces: list[Trace]) -> None:
    assert len({len(trace.src_tokens) for trace in traces}) == 3
    with np.load(dataset / "weights.npz", allow_pickle=False) as stored:
        kinds = {kind for kind, _, _ in HEADS}
        assert set(stored.files) == {files.head_code(head) for head in HEADS} | {
            f"{kind}.{part}" for kind in kinds for part in ("offsets", "shapes")
        }
        for head in HEADS:
            kind, layer, head_number = head
            flat = stored[files.head_code(head)]
            offsets, shapes = stored[f"{kind}.offsets"], stored[f"{kind}.shapes"]
            assert (offsets[0], offsets[-1]) == (0, len(flat))
            for number, trace in enumerate(traces):
                weights = flat[offsets[number] : offsets[number + 1]].reshape(shapes[number])
                np.testing.assert_allclose(
                    weights, trace.weights(kind, layer)[head_number], atol=1e-6
                )
                np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_about_json_describes_model_options_and_corpus(checkpoints: Path, tmp_path: Path) -> None:
    write_dataset(
        Translator.load(checkpoints / "tiny", "cpu"),
        CORPUS.first(1),
        tmp_path / "one",
        options={"method": "beam", "beam_size": 2, "max_len": 4},
    )
    about = json.loads((tmp_path / "one" / "about.json").read_text())
    assert about["checkpoint_hash"] == checkpoint_hash(checkpoints / "tiny")
    assert about["checkpoint"] == "tiny"
    assert about["decoding"]["beam_size"] == 2
    assert about["corpus"] == {"name": "mine.txt", "hash": CORPUS.first(1).hash, "sentences": 1}
    for name, columns in about["tables"].items():
        assert list(table(tmp_path / "one", name).columns) == columns
    assert table(tmp_path / "one", "translations")["method"].tolist() == ["beam"]
    assert not (tmp_path / "one" / "weights.npz").exists()  # no heads were requested


def test_given_targets_are_forced_and_a_zip_has_the_same_files(
    translator: Translator, tmp_path: Path
) -> None:
    pairs = Corpus.from_lines(["She paints.\tElle peint.", "Books.\tDes livres ici."], "mine.tsv")
    write_dataset(translator, pairs, tmp_path / "one.zip", heads=[("cross", 0, 0)])
    assert [path.name for path in tmp_path.iterdir()] == ["one.zip"]
    with zipfile.ZipFile(tmp_path / "one.zip") as packed:
        assert packed.testzip() is None
        assert packed.namelist() == FILES
        packed.extractall(tmp_path / "out")
    translations = table(tmp_path / "out", "translations")
    assert translations["text"].tolist() == ["Elle peint.", "Des livres ici."]
    expected = [translator.trace(s.source, s.target).translation for s in pairs.sentences]
    assert translations["log_probability"].tolist() == pytest.approx(
        [w.log_probability for w in expected]
    )


def test_tables_do_not_depend_on_the_buffer_size(
    translator: Translator, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BUFFERED_ROWS", 1)
    write_dataset(translator, CORPUS, tmp_path / "two", options={"max_len": 12})
    for name in files.SCHEMAS:
        pd.testing.assert_frame_equal(table(tmp_path / "two", name), table(dataset, name))


class Stop(Exception):
    """Raised when a visitor cancels."""


@pytest.mark.parametrize("stage", ["tracing", "packing weights"])
@pytest.mark.parametrize("name", ["one", "one.zip"])
def test_a_cancelled_dataset_leaves_no_files(
    translator: Translator, tmp_path: Path, name: str, stage: str
) -> None:
    state: list[Any] = ["", 0]

    def check() -> None:
        if state[0] == stage and state[1] > 0:
            raise Stop

    def progress(share: float, doing: str) -> None:
        state[:] = [doing, state[1] + (doing == stage)]

    with cancelled_by(check), pytest.raises(Stop):
        write_dataset(
            translator,
            CORPUS,
            tmp_path / name,
            heads=HEADS,
            options={"max_len": 4},
            progress=progress,
        )
    assert state[0] == stage
    assert not [*tmp_path.iterdir()]


def test_a_killed_process_leaves_no_partial_dataset(checkpoints: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    code = f"""
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.dataset import write_dataset
def progress(share, stage):
    if share > 0.1:
        print(stage, flush=True)
        import time; time.sleep(600)
corpus = Corpus.from_lines(["She paints."] * 9, "mine")
translator = Translator.load({str(checkpoints / "tiny")!r}, "cpu")
write_dataset(translator, corpus, {str(out)!r}, options={{"max_len": 4}}, progress=progress)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"tracing\n"
        os.kill(process.pid, signal.SIGKILL)
    assert not out.exists()
    assert all(path.name.startswith(".killed.") for path in tmp_path.iterdir())
    write_dataset(Translator.load(checkpoints / "tiny", "cpu"), CORPUS.first(1), out)
    assert len(table(out, "translations")) == 1


@pytest.mark.parametrize(
    ("lines", "more", "expected_message"),
    [
        (["Fine.", "word " * 600], {}, r"mine, line 2: The text has \d+ tokens; at most 512"),
        (["Fine.\tBon.", "So.\t" + "mot " * 700], {}, r"mine, line 2: The translation to force"),
        (["A.\tB."], {"options": {"beam_size": 4}}, "mine has targets, .* omit beam_size"),
        (["A."], {"options": {"beam": 4}}, "no option 'beam'"),
        (["A."], {"heads": [("cross", 2, 0)]}, "no layer 2; the layers are 0 to 1"),
        (["A.", "B."], {"heads": HEADS, "max_bytes": 99}, "4 heads have more than 99 bytes"),
    ],
)
def test_invalid_requests_give_a_one_sentence_error(
    translator: Translator,
    tmp_path: Path,
    lines: list[str],
    more: dict[str, Any],
    expected_message: str,
) -> None:
    with pytest.raises(ValueError, match=expected_message) as refused:
        write_dataset(translator, Corpus.from_lines(lines, "mine"), tmp_path / "one", **more)
    assert isinstance(refused.value, CorpusError) == (", line 2: " in expected_message)
    assert "\n" not in str(refused.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["one", "one.zip"])
def test_an_existing_output_is_not_overwritten(
    translator: Translator, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match="exists already; choose another name"):
        write_dataset(translator, CORPUS, tmp_path / name)
    assert (tmp_path / name).read_text() == "mine"
