"""Everything that computes runs on a pretend GPU of NVIDIA and of Apple."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run_on_pretend_device(*arguments: str) -> None:
    """Run `tests/pretend_device.py` in a process of its own, since it changes torch."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.pretend_device", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    assert "everything ran" in process.stdout


def test_a_default_device_of_torch_changes_no_result() -> None:
    run_on_pretend_device("cuda", "default")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_everything_runs_on_a_device_that_refuses_what_a_gpu_refuses(kind: str) -> None:
    run_on_pretend_device(kind)
