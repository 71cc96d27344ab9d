"""The ten files that CONTRIBUTING.md tells a newcomer to read exist and are as short as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECTION = "## How a sentence becomes a heatmap"
MAX_LINES = 1500


def test_the_ten_files_have_the_stated_number_of_lines() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split(SECTION)[1].split("\n## ")[0]
    stated_lines = {
        name: int(lines) for name, lines in re.findall(r"\| `(\S+\.py)` \| (\d+) \|", text)
    }
    actual_lines = {
        name: len((ROOT / name).read_text("utf-8").splitlines()) for name in stated_lines
    }
    assert len(stated_lines) == 10
    assert sum(actual_lines.values()) <= MAX_LINES
    assert stated_lines == pytest.approx(actual_lines, abs=15), (
        "update the lines in CONTRIBUTING.md"
    )
    total = re.search(r"about ([\d,]+) lines", text)
    assert total
    assert int(total[1].replace(",", "")) == pytest.approx(sum(actual_lines.values()), abs=50)
