"""Training in the page: its kernels, and its numbers against PyTorch and the Python trainer."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.figures.deno import DENO, SCRIPTS
from transformer.app_folders import APP_FOLDER

MODEL = APP_FOLDER / "transformer/figures/browser/model"


def test_kernels_are_compiled_from_their_source() -> None:
    process = subprocess.run(
        [DENO, "run", "--quiet", "-A", SCRIPTS / "build-kernels.js"],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    if process.returncode and re.search("registry|resolve|download|Import", process.stderr):
        pytest.skip("needs the package assemblyscript from npm, or from deno's cache")
    assert process.returncode == 0, process.stderr
    stored = (MODEL / "kernel-bytes.js").read_text(encoding="utf-8")
    assert f'"{process.stdout.strip()}"' in stored
