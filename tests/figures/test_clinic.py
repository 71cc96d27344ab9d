"""The cases of the Bug clinic: trained as in the page, and as PyTorch files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.figures.deno import SCRIPTS, deno
from tests.live_app import ROOT
from transformer.figures.modules import CLIENT

CLINIC = (CLIENT / "app/clinic").as_uri()
CODE = f"""
import {{ correctFile, offersOf, pytestFile, pytorchFile }} from "{CLINIC}/case.js";
import {{ CASES }} from "{CLINIC}/cases.js";
const lines = (site) => [{{ line: site.wrong }}, ...offersOf(site)];
console.log(JSON.stringify(CASES.filter(({{ sites }}) => sites.length).map((given) => ({{
  id: given.id,
  test: pytestFile(given),
  correct: correctFile(given),
  broken: pytorchFile(given),
  offers: given.sites.flatMap((site) => lines(site).map(({{ line }}) => ({{
    line,
    isRight: site.right.includes(line),
    file: pytorchFile(given, site, line),
  }}))),
}}))));
"""
STEPS = 3


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """Return the cases with code, each with the PyTorch file for every line that is offered."""
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


Behaviour = tuple[list[torch.Tensor], list[torch.Tensor], list[bool]]
"""The weights after training, the outputs of each decoding, and whether dropout was on in it."""


def behaviour(file: str) -> Behaviour:
    """Run a file for a few steps."""
    short, count = re.subn(r"(STEPS, BATCH = .*), \d+, \d+$", rf"\1, {STEPS}, 4", file, flags=re.M)
    assert count == 1
    names: dict[str, Any] = {"__name__": "case"}
    exec(compile(short.replace("count=500", "count=8"), "case", "exec"), names)
    decode, outputs, dropout = names["decode"], [], []

    def recording_decode(model: torch.nn.Module, src: torch.Tensor, limit: int) -> torch.Tensor:
        outputs.append(decode(model, src, limit))
        dropout.append(model.training)
        return outputs[-1]

    names["decode"] = recording_decode
    return [*names["main"]().state_dict().values()], outputs, dropout


def is_same(one: Behaviour, other: Behaviour) -> bool:
    return (
        all(torch.allclose(*pair, atol=1e-4) for pair in zip(one[0], other[0], strict=True))
        and all(torch.equal(*pair) for pair in zip(one[1], other[1], strict=True))
        and one[2] == other[2]
    )


def test_the_documented_program_checks_what_is_handed_in(tmp_path: Path) -> None:
    solved = {"id": "two_minds", "expected": "outputs", "evidence": "f → é", "vagueMarks": 4}
    attempts = {"wrongMarks": 1, "wrongLines": 2, "wrongCorrections": 0, "hints": 1}
    case = {**solved, **attempts, "seconds": 90, "points": 6}
    file = json.dumps(["Ada “A” ü", [case]])
    save = f"""import {{ makeResult }} from "{CLINIC}/result.js";
console.log(JSON.stringify(makeResult(...{file}), null, 1));"""
    saved = tmp_path / "saved.json"
    saved.write_text(deno("eval", "--no-lock", save), encoding="utf-8")
    changed = tmp_path / "changed.json"
    changed.write_text(
        saved.read_text(encoding="utf-8").replace('"hints": 1', '"hints": 0'), encoding="utf-8"
    )
    guide = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(import json\n.*?)```", guide, flags=re.S)
    command = [sys.executable, "-c", program, str(saved), str(changed)]
    lines = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert lines.splitlines() == [
        "Ada “A” ü\t1\t6\tunchanged",
        "Ada “A” ü\t1\t7\tchanged",
    ]


def test_exactly_the_right_lines_give_the_correct_model_in_pytorch(
    cases: list[dict[str, Any]],
) -> None:
    for case in cases:
        correct = behaviour(case["correct"])
        for offer in case["offers"]:
            repairs = is_same(behaviour(offer["file"]), correct)
            assert repairs == offer["isRight"], (case["id"], offer["line"])


@pytest.mark.slow
def test_pytest_is_green_only_for_the_right_line(
    cases: list[dict[str, Any]], tmp_path: Path
) -> None:
    for name, outcome in (("broken", "failed"), ("correct", "passed")):
        folder = tmp_path / outcome
        folder.mkdir()
        for case in cases:
            (folder / f"{case['id']}.py").write_text(case[name], encoding="utf-8")
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
