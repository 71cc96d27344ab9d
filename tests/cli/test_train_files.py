"""`train` on files: its output, its files, and one-sentence errors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.cli.conftest import SMALL_RUN, Result, Shell, check_refused
from transformer.checkpoint import load_checkpoint, load_languages
from transformer.training.run_folder import RunFolder

Train = Callable[..., Result]


@pytest.fixture
def train(shell: Shell, tmp_path: Path) -> Train:
    """`train(file, "--steps", 3)` runs the command with a small model in the folder `run`."""

    def run(*arguments: object) -> Result:
        files = list(itertools.takewhile(lambda word: not str(word).startswith("-"), arguments))
        defaults = [*SMALL_RUN, "--vocab-size", 320, "--run-folder", tmp_path / "run"]
        result = shell("train", *files, *defaults, *arguments[len(files) :])
        assert result.out == ""
        return result

    return run


def test_a_run_writes_a_checkpoint_and_its_card(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    result = train(pairs_file, "--precision", "bf16", "--valid-every", 2)
    assert result.status == 0
    run = RunFolder(tmp_path / "run")
    model, vocabulary = load_checkpoint(run.checkpoint_path)
    assert len(vocabulary) == model.config.vocab_size == 320
    assert model.config.d_ff == 32
    assert run.state()["precision"] == "bf16"
    n_weights = sum(weight.numel() for weight in model.parameters())
    assert f"196 pairs, {n_weights:,} parameters, on cpu in bf16" in result.err
    assert "finished: all 3 steps taken; the model is " in result.err
    threads = run.state()["threads"]
    assert f"computed in bf16 on cpu, threads: {threads}\nfinished: " in result.err
    config = run.config().to_dict()
    assert config["training"]["batch_tokens"] == 300
    assert config["data"] == {"train": (str(pairs_file),), "added": {}}
    card = (run.checkpoint_path / "README.md").read_text("utf-8")
    for text in ("1+1 layers, d_model 16", "196 pairs (pairs.tsv)", "3 steps", "precision bf16"):
        assert text in card


ROWS = "".join(f"a{n}\tb{n}\n" for n in range(60))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc d\n", "t.tsv, line 2 has no tab"),
        ("a\tb\n", "has 1 pair; at least 2 are needed"),
        (ROWS, "too small for 320 pieces"),
    ],
)
def test_invalid_text_gives_a_one_sentence_error(
    text: str, message: str, train: Train, tmp_path: Path
) -> None:
    (tmp_path / "t.tsv").write_text(text)
    check_refused(train(tmp_path / "t.tsv"), message, after_log=True)
    # The next call in the same folder, with a correct text, is not affected.
    run = RunFolder(tmp_path / "run")
    assert not run.is_prepared
    assert run.state()["status"] == "failed"
    assert message in run.state()["reason"]


def test_more_than_two_files_are_refused(train: Train, pairs_file: Path) -> None:
    check_refused(train(*[pairs_file] * 3), "two parallel text files, not 3")


def test_a_correct_text_is_trained_after_an_error(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    """The first call learns a vocabulary and encodes the text, but the validation pairs fail."""
    valid = tmp_path / "valid.tsv"
    valid.write_text("no tab\n")
    check_refused(
        train(pairs_file, "--valid", valid), "valid.tsv, line 1 has no tab", after_log=True
    )
    other_table = tmp_path / "other.tsv"
    lines = pairs_file.read_text("utf-8").splitlines(keepends=True)
    other_table.write_text("".join(lines[:150]), "utf-8")
    result = train(other_table)
    assert result.status == 0
    assert "147 pairs" in result.err
    assert "learning 320 tokens" in result.err  # the data of the first text is not reused


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
        check_refused(train(pairs_file), message)


def test_languages_and_penalties_are_written_to_the_model_card(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    penalty = ("--sharpness-penalty", 0.25)
    assert train(pairs_file, "--languages", "en", "de", *penalty).status == 0
    run = RunFolder(tmp_path / "run")
    card = (run.checkpoint_path / "README.md").read_text()
    assert "sharpness penalty 0.25 on attention" in card
    assert "diversity penalty" not in card
    assert run.config().languages == ("en", "de")
    assert load_languages(run.checkpoint_path) == ("en", "de")
    # A resumed run keeps its languages unless others are given.
    assert train(pairs_file, "--steps", 4).status == 0
    assert load_languages(run.checkpoint_path) == ("en", "de")
    assert train(pairs_file, "--steps", 5, "--languages", "en", "fr").status == 0
    assert load_languages(run.checkpoint_path) == ("en", "fr")


def test_a_run_may_start_from_a_checkpoint(train: Train, pairs_file: Path, tmp_path: Path) -> None:
    assert train(pairs_file, "--precision", "fp32").status == 0
    checkpoint = RunFolder(tmp_path / "run").checkpoint_path
    run_options = ("--run-folder", tmp_path / "again", "--start-from", checkpoint)
    result = train(pairs_file, *run_options, "--warmup", 10**9, "--steps", 1, "--precision", "fp32")
    assert result.status == 0
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
    assert train(pairs_file).status == 0
    checkpoint = RunFolder(tmp_path / "run").checkpoint_path
    result = train(
        pairs_file, "--run-folder", tmp_path / "b", "--start-from", checkpoint, "--d-ff", 64
    )
    check_refused(result, "has d_ff 32; a run that starts from it cannot have 64")
    missing = train(pairs_file, "--run-folder", tmp_path / "c", "--start-from", tmp_path / "none")
    check_refused(missing, "there is no checkpoint folder")


def test_a_new_vocabulary_keeps_the_embeddings_of_shared_pieces(
    train: Train, pairs_file: Path, tmp_path: Path
) -> None:
    assert train(pairs_file, "--precision", "fp32").status == 0
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
        train(
            other_table, *run_options, "--warmup", 10**9, "--steps", 1, "--precision", "fp32"
        ).status
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
    result = train(
        pairs_file, "--add", f"{added_table}=0.5", "--concat-prob", 0.5, "--sharpness-penalty", 0.1
    )
    assert result.status == 0
    assert "236 pairs" in result.err  # 196 of the table (four are held out) and all 40 added pairs
    run = RunFolder(tmp_path / "run")
    assert run.config().to_dict()["data"]["added"] == {str(added_table): 0.5}
    assert run.text_path("added-0").is_file()


def test_probes_are_recorded_in_training(train: Train, pairs_file: Path, tmp_path: Path) -> None:
    probes = tmp_path / "probes.tsv"
    probes.write_text("a1\tb1\n", "utf-8")
    assert train(pairs_file, "--probes", probes).status == 0
    run = RunFolder(tmp_path / "run")
    paths = sorted(run.snapshots_path.glob("*.npz"))
    steps = [int(path.stem) for path in paths]
    assert (steps[0], steps[-1]) == (0, 3)
    with np.load(paths[-1]) as snapshot:
        assert snapshot["0.cross"].shape[:2] == (1, 2)  # layers, heads
