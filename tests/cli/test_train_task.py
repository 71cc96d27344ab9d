"""`python -m transformer train --task` trains the same run as the page for training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import SMALL_RUN, Shell, check_refused
from transformer.training.recipe import make_run_config
from transformer.training.run_folder import RunFolder

QUICK_OPTIONS = [*SMALL_RUN, "--option", "n_train=200", "--option", "n_valid=10"]


def test_a_task_is_trained_and_translates(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "reverse"
    arguments = ["train", "--task", "reverse", "--run-folder", folder]
    arguments += [*QUICK_OPTIONS, "--option", "letters=4"]
    result = shell(*arguments)
    assert (result.status, result.out) == (0, "")
    assert "200 pairs, " in result.err
    assert "finished: all 3 steps taken; the model is " in result.err
    run = RunFolder(folder)
    size = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
    expected = make_run_config(
        "reverse",
        settings=size | {"steps": 3, "batch_tokens": 300},
        options={"n_train": 200, "n_valid": 10, "letters": 4},
        device="cpu",
    )
    assert run.config() == expected
    translated = shell("translate", "--checkpoint", run.checkpoint_path, "a b c", "--device", "cpu")
    assert translated.status == 0
    run.write_control(command="pause")  # an earlier request, which a new call ignores
    assert "resuming after step 3" in shell(*arguments).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "revers"], "no task 'revers': choose one of copy, reverse"),
        (["--task", "copy", "--option", "longest"], "such as longest=12, not 'longest'"),
        (["--task", "copy", "--vocab-size", "9"], "omit --vocab-size or --task"),
        (["--task", "copy", "--start-from", "x"], "omit --start-from or --task"),
        (["pairs.tsv", "--task", "copy"], "omit the files or --task"),
        (["pairs.tsv", "--option", "longest=3"], "--option needs --task"),
        (["pairs.tsv", "--add", "more.tsv=-1"], "a number above 0, such as more.tsv=0.5, not"),
        ([], "or a task with --task"),
    ],
)
def test_an_invalid_option_gives_a_one_sentence_error(
    arguments: list[str], message: str, shell: Shell, tmp_path: Path
) -> None:
    check_refused(shell("train", *arguments, "--run-folder", tmp_path / "run"), message)
    assert not (tmp_path / "run" / "config.json").exists()


def test_an_empty_run_folder_is_not_the_working_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(shell("train", "--task", "copy", "--run-folder", ""), "--run-folder is empty")
    assert not [*tmp_path.iterdir()]


def test_a_failed_run_prints_the_reason(shell: Shell, tmp_path: Path) -> None:
    options = ("--run-folder", tmp_path / "run", *QUICK_OPTIONS)
    result = shell("train", "--task", "copy", *options, "--learning-rate", "1e38", "--steps", 9)
    assert result.status == 1
    assert "error: the loss was nan" in result.err
    assert RunFolder(tmp_path / "run").state()["status"] == "failed"
