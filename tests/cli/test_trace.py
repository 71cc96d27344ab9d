"""`trace FILE OUT` writes a dataset with the traces of all sentences in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import Shell, check_refused
from transformer import Translator

LINES = ["She paints.", "The baker sells the lamp again."]


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_a_file_is_traced_into_a_dataset(shell: Shell, checkpoint: Path, sentences: Path) -> None:
    out = sentences.with_name("out")
    options = ("--checkpoint", checkpoint, "--heads", "e1.2,c0", "--beam", 2, "--max-len", 6)
    result = shell("trace", sentences, out, *options, "--device", "cpu")
    assert result == (0, "", "")
    translator = Translator.load(checkpoint, "cpu")
    traces = [translator.trace(line, beam_size=2, max_len=6) for line in LINES]
    translations = pd.read_parquet(out / "translations.parquet")
    assert translations["text"].tolist() == [trace.text for trace in traces]
    with np.load(out / "weights.npz", allow_pickle=False) as stored:
        heads = {f"c0.{head}" for head in range(4)} | {"e1.2"}
        kinds = {
            f"{kind}.{part}" for kind in ("encoder", "cross") for part in ("offsets", "shapes")
        }
        assert set(stored.files) == heads | kinds
        offsets, shapes = stored["cross.offsets"], stored["cross.shapes"]
        last_head = stored["c0.3"][offsets[1] :].reshape(shapes[1])
        np.testing.assert_allclose(last_head, traces[1].weights("cross", 0)[3], atol=1e-6)
    about = json.loads((out / "about.json").read_text())
    assert about["heads"] == ["e1.2", "c0.0", "c0.1", "c0.2", "c0.3"]
    assert about["corpus"]["name"] == "mine.txt"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"Fine.\n\nBooks.\n", (), "mine.txt, line 2: the line has no sentence"),
        (
            b"Fine.\nBooks.\tLivres.\n",
            (),
            "mine.txt, line 2: it has a tab, but the first line has not",
        ),
        (b"Fine.\n" + b"word " * 600, (), "mine.txt, line 2: The text has"),
        (b"Fine.\nCaf\xe9\n", (), "line 2 is not UTF-8"),
        (b"", (), "mine.txt has 0 sentences"),
        (b"Fine.\n" * 5001, (), "mine.txt has 5001 sentences; a corpus has 1 to 5000"),
        (b"Fine.\n", ("--heads", "c9"), "the model has no head c9"),
        (b"Fine.\n", ("--heads", "all"), "heads are written as"),
        (b"Fine.\tBon.\n", ("--beam", 4), "mine.txt has targets"),
        (b"Fine.\n", ("--beam", 0), "beam_size must be at least 1"),
    ],
)
def test_errors_are_one_sentence_and_leave_no_files(
    shell: Shell,
    checkpoint: Path,
    sentences: Path,
    content: bytes,
    options: tuple[object, ...],
    message: str,
) -> None:
    sentences.write_bytes(content)
    out = sentences.with_name("out.zip")
    check_refused(shell("trace", sentences, out, "--checkpoint", checkpoint, *options), message)
    assert [path.name for path in sentences.parent.iterdir()] == ["mine.txt"]


def test_an_existing_output_is_not_overwritten(
    shell: Shell, checkpoint: Path, sentences: Path
) -> None:
    check_refused(
        shell("trace", sentences, sentences, "--checkpoint", checkpoint), "exists already"
    )
    assert sentences.read_text().split("\n")[:2] == LINES


def test_a_too_long_file_name_is_shortened_in_the_message(
    shell: Shell, checkpoint: Path, sentences: Path
) -> None:
    result = shell("trace", sentences, "x" * 3000, "--checkpoint", checkpoint)
    check_refused(result, "x" * 100)
    assert len(result.err) < 1100
