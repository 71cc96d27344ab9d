"""Every notebook runs from top to bottom, with a small model in the place of a large one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transformer.exchange import export_marian

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_it_runs(
    path: Path, checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export_marian(checkpoints / "tiny", "theirs")
    space: dict[str, Any] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "a notebook is committed without what it printed"
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), space)
    assert {"figure.html", "view.html", "weights.csv"} <= {one.name for one in tmp_path.iterdir()}
    assert len(space["lost"]) == space["trace"].n_heads
