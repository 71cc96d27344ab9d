"""Help texts: the program's name, its version, every option."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.conftest import Shell, check_refused
from transformer.cli import COMMANDS, MODULE_NAMES, heads_up
from transformer.cli.train import NOT_OPTIONS, attribute_texts
from transformer.config import ModelConfig, TrainingConfig


def installed_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    """Return the output of the installed command `heads-up`."""
    monkeypatch.setattr(sys, "argv", ["heads-up", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        heads_up()
    assert exit_info.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["translate", "--help"]])
def test_help_names_the_called_program(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    assert installed_output(monkeypatch, capsys, *arguments).startswith("usage: heads-up")
    assert shell(*arguments).out.startswith("usage: python -m transformer")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND (see python -m transformer --help)"),
        (["dance"], "invalid choice: 'dance'"),
        (["train"], "required: --run-folder (see python -m transformer train --help)"),
        (["train", "--run-folder", "run", "--steps", "x"], "--steps: invalid int value: 'x'"),
    ],
)
def test_invalid_arguments_give_the_same_status_as_invalid_values(
    shell: Shell, arguments: list[str], message: str
) -> None:
    check_refused(shell(*arguments), message)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "serve"])
def test_every_option_is_described(command: str) -> None:
    parser = argparse.ArgumentParser()
    import_module(f"transformer.cli.{MODULE_NAMES.get(command, command)}").add_arguments(parser)
    assert [action.dest for action in parser._actions if not action.help] == []
    parser.format_help()  # raises an error for a percent sign, which must be doubled


@pytest.mark.parametrize("config", [ModelConfig, TrainingConfig])
def test_help_of_train_has_the_text_and_the_default_of_every_field(
    shell: Shell, config: type[ModelConfig] | type[TrainingConfig]
) -> None:
    out = " ".join(shell("train", "--help").out.split())
    for field in fields(config):
        if field.name not in NOT_OPTIONS:
            assert f"--{field.name.replace('_', '-')} " in out
            text = attribute_texts(config)[field.name]
            assert text.split(" (")[0].split("-")[0].split("; ")[0].rstrip(".") in out, field.name
    assert "source plus target positions of one step, padding included (default: 4096)" in out


def test_attribute_descriptions_are_read_from_a_docstring() -> None:
    @dataclass
    class Example:
        """An example.

        Attributes:
            one: of several
                lines: with a colon.
            two, three: of both.
        """

    assert attribute_texts(Example) == {
        "one": "of several lines: with a colon.",
        "two": "of both.",
        "three": "of both.",
    }


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "ascii"])
def test_output_to_a_pipe_is_utf_8_under_every_code_page(checkpoint: Path, encoding: str) -> None:
    texts = "I like 猫 and Łódź.\nGood evening.\n"
    for arguments, has_text in (
        (["train", "--help"], "√"),
        (["translate", "--checkpoint", str(checkpoint)], "\n"),
    ):
        result = subprocess.run(
            [sys.executable, "-m", "transformer", *arguments],
            input=texts.encode(),
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=True,
        )
        assert has_text in result.stdout.decode("utf-8")
    assert result.stdout.decode("utf-8").count("\n") == 2
