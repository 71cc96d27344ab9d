"""`python -m transformer train`: its output, its files, and one-sentence errors."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from transformer.checkpoint import load_checkpoint, load_languages
from transformer.cli import main
from transformer.training.run_folder import RunFolder

Train = Callable[..., tuple[int, str]]


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Train:
    """`train(file, "--steps", 3)` runs the command with a small model and returns its exit status
    and its standard error."""

    def run(*arguments: object) -> tuple[int, str]:
        shape = "--preset tiny --d-model 16 --n-layers 1 --n-heads 2 --d-ff 32 --vocab-size 320"
        training = "--steps 3 --batch-tokens 400 --device cpu"
        defaults = [*shape.split(), *training.split(), "--run-folder", str(tmp_path / "run")]
        files = list(itertools.takewhile(lambda word: word[:1] != "-", map(str, arguments)))
        command = ["train", *files, *defaults, *map(str, arguments[len(files) :])]
        try:
            status = main(command)
        except SystemExit as error:  # raised by argparse
            status = int(error.code or 0)
        out, err = capsys.readouterr()
        assert out == ""
        return status, err

    return run


def assert_refused(result: tuple[int, str], message: str) -> None:
    """Check that the last line is a one-sentence error."""
    status, stderr = result
    assert status == 1
    assert stderr.splitlines()[-1].startswith("error: ")
    assert message in stderr.splitlines()[-1]
    assert "Traceback" not in stderr


def test_a_run_writes_a_checkpoint_and_its_card(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    status, stderr = train(pairs_file, "--precision", "bf16", "--valid-every", 2)
    assert status == 0
    run = RunFolder(tmp_path / "run")
    model, vocabulary = load_checkpoint(run.checkpoint_path)
    assert len(vocabulary) == model.config.vocab_size == 320
    assert model.config.d_ff == 32
    assert run.state()["precision"] == "bf16"
    n_weights = sum(weight.numel() for weight in model.parameters())
    assert f"196 pairs, {n_weights:,} parameters, on cpu in bf16" in stderr
    assert "finished: all 3 steps taken; the model is " in stderr
    threads = run.state()["threads"]
    assert f"computed in bf16 on cpu, threads: {threads}\nfinished: " in stderr
    config = run.config().to_dict()
    assert config["training"]["batch_tokens"] == 400
    assert config["data"] == {"train": (str(pairs_file),), "added": {}}
    card = (run.checkpoint_path / "README.md").read_text("utf-8")
    for text in ("1+1 layers, d_model 16", "196 pairs (pairs.tsv)", "3 steps", "precision bf16"):
        assert text in card


def test_a_finished_run_trains_no_further_step(train: Train, pairs_file: Path) -> None:
    assert train(pairs_file)[0] == 0
    status, stderr = train(pairs_file)
    assert status == 0
    assert "resuming after step 3" in stderr
    assert "finished: all 3 steps taken" in stderr


def make_writer(name: str, content: bytes) -> Callable[[Path], list[Any]]:
    """Return a function that writes this file into a folder and returns its path in a list."""

    def write(folder: Path) -> list[Any]:
        (folder / name).write_bytes(content)
        return [folder / name]

    return write


ROWS = "".join(f"a{n}\tb{n}\n" for n in range(60))
INVALID_TEXTS: dict[str, tuple[Callable[[Path], list[Any]], str]] = {
    "no file": (lambda folder: [folder / "gone.tsv"], "There is no file"),
    "a folder": (lambda folder: [folder], "is a folder; give a text file"),
    "empty": (make_writer("t.tsv", b""), "t.tsv is empty"),
    "one pair": (make_writer("t.tsv", b"a\tb\n"), "has 1 pair; at least 2 are needed"),
    "no tab": (make_writer("t.tsv", b"a\tb\nc d\n"), "t.tsv, line 2 has no tab"),
    "an empty side": (make_writer("t.tsv", b"a\tb\n\tc\n"), "line 2 has an empty source"),
    "UTF-16": (make_writer("t.tsv", ROWS.encode("utf-16")), "line 1 is not UTF-8 (byte 0xff"),
    "Latin-1": (
        make_writer("t.tsv", "a\tb\ncaf\xe9\tx\n".encode("latin-1")),
        "line 2 is not UTF-8",
    ),
    "truncated gzip": (
        make_writer("t.tsv.gz", gzip.compress(ROWS.encode())[:-20]),
        "t.tsv.gz is not a complete gzip file",
    ),
    "too small for the vocabulary": (
        make_writer("t.tsv", ROWS.encode()),
        "too small for 320 pieces",
    ),
    "unequal files": (
        lambda folder: make_writer("en", b"a\nb\n")(folder) + make_writer("fr", b"c\n")(folder),
        "parallel files need the same number",
    ),
    "three files": (
        lambda folder: make_writer("t.tsv", ROWS.encode())(folder) * 3,
        "two parallel text files, not 3",
    ),
}


@pytest.mark.parametrize("case", INVALID_TEXTS)
def test_invalid_text_gives_a_one_sentence_error(case: str, train: Train, tmp_path: Path) -> None:
    write_files, message = INVALID_TEXTS[case]
    assert_refused(train(*write_files(tmp_path)), message)
    # The next call in the same folder, with a correct text, is not affected.
    config = tmp_path / "run" / "config.json"
    if config.is_file():
        run = RunFolder(tmp_path / "run")
        assert not run.is_prepared
        assert run.state()["status"] == "failed"
        assert message in run.state()["reason"]


def test_a_correct_text_is_trained_after_an_error(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    """The first call learns a vocabulary and encodes the text, but the validation pairs fail."""
    valid = tmp_path / "valid.tsv"
    valid.write_text("no tab\n")
    assert_refused(train(pairs_file, "--valid", valid), "valid.tsv, line 1 has no tab")
    other_table = tmp_path / "other.tsv"
    lines = pairs_file.read_text("utf-8").splitlines(keepends=True)
    other_table.write_text("".join(lines[:150]), "utf-8")
    status, stderr = train(other_table)
    assert status == 0
    assert "147 pairs" in stderr
    assert "learning 320 tokens" in stderr  # the data of the first text is not reused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "gpu"], "device must be one of auto, cpu"),
        (["--steps", "0"], "steps must be at least 1, not 0"),
        (["--vocab-size", "3"], "ids below vocab_size 3"),
        (["--max-pieces", "1"], "0 have both sides within max_len=1"),
    ],
)
def test_invalid_option_gives_a_one_sentence_error(
    arguments: list[str], message: str, train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    assert_refused(train(pairs_file, "--run-folder", tmp_path / "run", *arguments), message)


def test_corrupt_config_gives_a_one_sentence_error(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    train(pairs_file)
    config = tmp_path / "run" / "config.json"
    for text, message in (
        (json.dumps({"model": None, "data": []}), "config.json is invalid: "),
        ("[", "config.json cannot be read"),
    ):
        config.write_text(text)
        assert_refused(train(pairs_file), message)


def test_languages_and_penalties_are_written_to_the_model_card(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    penalty = ("--sharpness-penalty", 0.25)
    assert train(pairs_file, "--languages", "en", "de", *penalty)[0] == 0
    run = RunFolder(tmp_path / "run")
    card = (run.checkpoint_path / "README.md").read_text()
    assert "sharpness penalty 0.25 on attention" in card
    assert "diversity penalty" not in card
    assert run.config().languages == ("en", "de")
    assert load_languages(run.checkpoint_path) == ("en", "de")
    # A resumed run keeps its languages unless others are given.
    assert train(pairs_file, "--steps", 4)[0] == 0
    assert load_languages(run.checkpoint_path) == ("en", "de")
    assert train(pairs_file, "--steps", 5, "--languages", "en", "fr")[0] == 0
    assert load_languages(run.checkpoint_path) == ("en", "fr")


def test_a_run_may_start_from_a_checkpoint(train: Train, pairs_file: Path, tmp_path: Path) -> None:
    assert train(pairs_file, "--precision", "fp32")[0] == 0
    checkpoint = RunFolder(tmp_path / "run").checkpoint_path
    run_options = ("--run-folder", tmp_path / "again", "--start-from", checkpoint)
    status, _ = train(
        pairs_file, *run_options, "--warmup", 10**9, "--steps", 1, "--precision", "fp32"
    )
    assert status == 0
    run = RunFolder(tmp_path / "again")
    before, vocabulary = load_checkpoint(checkpoint)
    after, vocabulary_after = load_checkpoint(run.checkpoint_path)
    assert vocabulary_after.sha256 == vocabulary.sha256
    for old, new in zip(before.parameters(), after.parameters(), strict=True):
        torch.testing.assert_close(new, old, rtol=0, atol=2e-3)  # one step at a rate of nearly 0
    assert "initialised from checkpoint" in (run.checkpoint_path / "README.md").read_text()


def test_starting_from_another_shape_is_refused(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    assert train(pairs_file)[0] == 0
    checkpoint = RunFolder(tmp_path / "run").checkpoint_path
    result = train(
        pairs_file, "--run-folder", tmp_path / "b", "--start-from", checkpoint, "--d-ff", 64
    )
    assert_refused(result, "has d_ff 32; a run that starts from it cannot have 64")
    missing = train(pairs_file, "--run-folder", tmp_path / "c", "--start-from", tmp_path / "none")
    assert_refused(missing, "there is no checkpoint folder")


def test_a_new_vocabulary_keeps_the_embeddings_of_shared_pieces(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    assert train(pairs_file, "--precision", "fp32")[0] == 0
    checkpoint = RunFolder(tmp_path / "run").checkpoint_path
    other_table = tmp_path / "other.tsv"
    other_table.write_text("".join(f"a{n} cat\tune chatte {n}\n" for n in range(60)), "utf-8")
    run_options = (
        "--run-folder",
        tmp_path / "again",
        "--start-from",
        checkpoint,
        "--vocab-size",
        290,
    )
    assert (
        train(other_table, *run_options, "--warmup", 10**9, "--steps", 1, "--precision", "fp32")[0]
        == 0
    )
    before, old_vocabulary = load_checkpoint(checkpoint)
    after, new_vocabulary = load_checkpoint(RunFolder(tmp_path / "again").checkpoint_path)
    assert len(new_vocabulary) == 290 != len(old_vocabulary)
    old_ids = {
        piece: n for n, piece in enumerate(old_vocabulary.tokens(range(len(old_vocabulary))))
    }
    shared_ids = [
        (old_ids[p], n)
        for n, p in enumerate(new_vocabulary.tokens(range(len(new_vocabulary))))
        if p in old_ids
    ]
    assert 4 < len(shared_ids) < len(new_vocabulary)
    tolerance = {"rtol": 0.0, "atol": 2e-3}  # one step at a rate of nearly 0, and float16 on disk
    rows = [list(side) for side in zip(*shared_ids, strict=True)]
    torch.testing.assert_close(
        after.embedding.weight[rows[1]], before.embedding.weight[rows[0]], **tolerance
    )
    for name, weight in before.named_parameters():
        if name != "embedding.weight":
            torch.testing.assert_close(after.get_parameter(name), weight, **tolerance)


def test_pairs_of_added_tables_are_trained(train: Train, pairs_file: Path, tmp_path: Path) -> None:
    added_table = tmp_path / "more.tsv"
    added_table.write_text("".join(f"c{n}\td{n}\n" for n in range(40)), "utf-8")
    status, stderr = train(
        pairs_file, "--add", f"{added_table}=0.5", "--concat-prob", 0.5, "--sharpness-penalty", 0.1
    )
    assert status == 0
    assert "236 pairs" in stderr  # 196 of the table (four are held out) and all 40 added pairs
    run = RunFolder(tmp_path / "run")
    assert run.config().to_dict()["data"]["added"] == {str(added_table): 0.5}
    assert run.text_path("added-0").is_file()


def test_probes_are_recorded_in_training(train: Train, pairs_file: Path, tmp_path: Path) -> None:
    probes = tmp_path / "probes.tsv"
    probes.write_text("a1\tb1\n", "utf-8")
    assert train(pairs_file, "--probes", probes)[0] == 0
    run = RunFolder(tmp_path / "run")
    paths = sorted(run.snapshots_path.glob("*.npz"))
    steps = [int(path.stem) for path in paths]
    assert (steps[0], steps[-1]) == (0, 3)
    with np.load(paths[-1]) as snapshot:
        assert snapshot["0.cross"].shape[:2] == (1, 2)  # layers, heads
