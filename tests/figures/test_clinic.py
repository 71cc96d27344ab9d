"""The cases of the Bug clinic: trained as in the page, and as PyTorch files."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.figures.deno import SCRIPTS, deno
from transformer.figures.modules import CLIENT

CODE = f"""
import {{ offersOf, pytestFile, pytorchFile }} from "{(CLIENT / "app/clinic/case.js").as_uri()}";
import {{ CASES }} from "{(CLIENT / "app/clinic/cases.js").as_uri()}";
console.log(JSON.stringify(CASES.map((given) => ({{
  id: given.id,
  test: pytestFile(given),
  files: offersOf(given).map(({{ line }}) => pytorchFile(given, line)),
}}))));
"""


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """Return the cases, each with its PyTorch files: the wrong one, the right one, the others."""
    result: list[dict[str, Any]] = json.loads(deno("eval", "--no-lock", CODE))
    return result


def train_in_page(*ids: str) -> str:
    script = str(SCRIPTS / "clinic-cases.js")
    return deno("test", "--quiet", "--no-check", "--allow-read", script, "--", *ids)


def test_a_case_has_its_symptom_in_the_page() -> None:
    assert "1 passed" in train_in_page("perfect_loss")


@pytest.mark.slow
def test_every_case_has_its_symptom_in_the_page() -> None:
    assert " 0 failed" in train_in_page()


def test_every_line_offered_runs_in_pytorch(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    for case in cases:
        for number, text in enumerate(case["files"]):
            short, count = re.subn(r"(STEPS, BATCH = .*), \d+, \d+$", r"\1, 2, 4", text, flags=re.M)
            assert count == 1
            file = tmp_path / f"{case['id']}_{number}.py"
            file.write_text(short.replace("count=500", "count=8"), encoding="utf-8")
            runpy.run_path(str(file))["main"]()


@pytest.mark.slow
def test_pytest_is_green_only_for_the_right_line(
    cases: list[dict[str, Any]], tmp_path: Path
) -> None:
    for number, outcome in enumerate(("failed", "passed")):
        folder = tmp_path / outcome
        folder.mkdir()
        for case in cases:
            (folder / f"{case['id']}.py").write_text(case["files"][number], encoding="utf-8")
            (folder / f"test_{case['id']}.py").write_text(case["test"], encoding="utf-8")
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
            capture_output=True,
            encoding="utf-8",
            timeout=600,
            check=False,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert f"{len(cases)} {outcome} in" in process.stdout, process.stdout[-3000:]
