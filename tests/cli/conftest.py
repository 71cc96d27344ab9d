"""Fixtures: a checkpoint on disk, and a function that calls the command line in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from transformer.checkpoint import save_checkpoint
from transformer.cli import main
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary


class Result(NamedTuple):
    status: int
    out: str
    err: str


Shell = Callable[..., Result]


def check_refused(result: Result, message: str) -> None:
    """Check that the command failed with only one sentence."""
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.fixture(scope="session")
def checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, vocabulary: Vocabulary
) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny"
    save_checkpoint(folder, tiny_model, vocabulary, "# A tiny model\n")
    return folder


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """`shell("translate", …)` runs `python -m transformer translate …` in this process, with the
    bytes `stdin` on standard input."""

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:  # raised by argparse
            status = int(error.code or 0)
        return Result(status, *capsys.readouterr())

    return run
