"""The PyTorch script that the page "Train in this tab" exports."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.figures.deno import deno
from transformer.figures.trainer_page import BROWSER

TASKS = (
    "reverse",
    "copy",
    "sort",
    "cipher",
    "addition",
    "dates",
    "brackets",
    "induction",
    "modular",
)
PAIRS = [["I see .", "ich sehe ."], ["you see .", "du siehst ."]]


def script(link: str, pairs: object = None) -> str:
    """Return the script of the run of a link."""
    code = f"""
import {{ allSettings, readLink }} from "{(BROWSER / "trainer/link.js").as_uri()}";
import {{ scriptFor }} from "{(BROWSER / "trainer/script.js").as_uri()}";
console.log(scriptFor(allSettings(readLink({json.dumps(link)}), 0), {json.dumps(pairs)}));
"""
    return deno("eval", "--no-lock", code)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains(task: str, tmp_path: Path) -> None:
    text = script(f"task={task};steps=2;batch=4;d_model=32;d_ff=32")
    assert len(text.splitlines()) <= 200
    file = tmp_path / "train.py"
    file.write_text(text, encoding="utf-8")
    module = runpy.run_path(str(file))
    source, target = module["example"]()
    assert source
    assert {*source, *target} <= {*module["SYMBOLS"]}
    module["main"]()


def test_the_script_learns(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    text = script("task=reverse;steps=200;option.longest=3;option.letters=4")
    file.write_text(text, encoding="utf-8")
    process = subprocess.run(
        [sys.executable, str(file)], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    right = re.findall(r"([\d.]+)% of the outputs right", process.stdout)
    assert float(right[-1]) > 90


def test_settings_and_heads_switched_off_reach_the_model(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    link = "positions=learned;score=dot;causal=false;off=c1.0,e0.2;n_layers=2;steps=2"
    file.write_text(script(link), encoding="utf-8")
    module = runpy.run_path(str(file))
    model = module["Transformer"]()
    assert model.decoder[1].cross_attention.off == [0]
    assert model.encoder[0].self_attention.off == [2]
    assert (module["SCALED"], module["CAUSAL"], module["POSITIONS"]) == (False, False, "learned")


def test_own_pairs_are_in_the_script(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(script("task=pairs;steps=2", {"train": PAIRS}), encoding="utf-8")
    module = runpy.run_path(str(file))
    assert {" ".join(source) for source, _ in [module["example"]() for _ in range(40)]} == {
        source for source, _ in PAIRS
    }
    module["main"]()
