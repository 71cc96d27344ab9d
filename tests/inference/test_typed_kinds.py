"""The kinds of attention are a `Literal`, so that a type checker finds a misspelt one."""

import subprocess
import sys
from pathlib import Path

import pytest

USE = """from transformer import Translator
from transformer.analysis.interventions import switched_off

translator = Translator.load("en-fr")
trace = translator.trace("I am a student.")
trace.weights("{kind}", 1), trace.all_weights("{kind}"), trace.to_frame("{kind}")
switched_off(translator.model.config, [("{kind}", 5, 0)])
"""

UNREAD = """[mypy]
[mypy-torch.*,pandas.*,plotly.*,sentencepiece.*,safetensors.*]
follow_imports = skip
"""
"""Configuration of mypy: the types of large packages are not needed here."""


@pytest.mark.slow
def test_a_type_checker_refuses_a_misspelt_kind(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(USE.format(kind="cross"))
    (tmp_path / "wrong.py").write_text(USE.format(kind="crosss"))
    (tmp_path / "mypy.ini").write_text(UNREAD)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent"]
    command += ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    files = [str(tmp_path / "right.py"), str(tmp_path / "wrong.py")]
    result = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    errors = [line for line in result.stdout.splitlines() if "error:" in line]
    assert len(errors) == 4, result.stdout + result.stderr
    assert all("wrong.py" in line and "crosss" in line for line in errors)
