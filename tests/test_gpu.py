"""`python -m benchmarks.gpu` runs without a GPU and without the packages of the app."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ABSENT = ("streamlit", "plotly", "segno", "pydantic", "starlette", "uvloop", "playwright")


@pytest.mark.slow
def test_the_command_runs_on_the_cpu_without_the_packages_of_the_app(tmp_path: Path) -> None:
    # Python reads this file at its start; a module that is None cannot be imported.
    hide = f"import sys; sys.modules.update(dict.fromkeys({ABSENT!r}))"
    (tmp_path / "sitecustomize.py").write_text(hide, "utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", "--device=cpu", "--tiny"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "translations equal to those of the CPU: 15 of 15" in process.stdout
    assert "training, nn.Transformer, bf16: " in process.stdout
