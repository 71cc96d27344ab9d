"""A checkpoint on disk, and functions that call the command line in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from transformer.cli import main


class Result(NamedTuple):
    status: int
    out: str
    err: str


Shell = Callable[..., Result]


def check_refused(result: Result, message: str, *, after_log: bool = False) -> None:
    """Check that the command failed with only one sentence, or one after lines of its log."""
    assert (result.status, result.out) == (1, "")
    *log, error = result.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert after_log or not log
    assert "Traceback" not in result.err


@pytest.fixture(scope="session")
def checkpoint(checkpoints: Path) -> Path:
    return checkpoints / "tiny"


SMALL_RUN = [
    *("--preset", "tiny", "--d-model", 16, "--n-layers", 1, "--n-heads", 2, "--d-ff", 32),
    *("--steps", 3, "--batch-tokens", 300, "--device", "cpu"),
]
"""Options of `train` for a run of a second."""


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
