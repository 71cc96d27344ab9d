"""A checkpoint on disk for the commands, and the command line as a function."""

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
    """`python -m transformer …` in this process, with bytes on standard input."""

    def run(*words: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:  # raised by argparse
            status = int(stop.code or 0)
        return Result(status, *capsys.readouterr())

    return run
