"""`benchmarks.explorer` where BertViz cannot be measured: it says so and measures the rest."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pytest

from benchmarks import explorer
from benchmarks.browser import ROOT

pytestmark = pytest.mark.browser

CDN = "https://cdn.example/libs/d3.min"


def bertviz_page(**_: Any) -> SimpleNamespace:
    """Stands in for BertViz' `model_view`: a page that loads a script from a CDN."""
    return SimpleNamespace(data=f'<script>require("{CDN}.js")</script>')


def no_network(url: str, timeout: float) -> Any:
    raise URLError("Name or service not known")


@pytest.mark.parametrize(
    ("reason", "installed", "scripts"),
    [
        (f"{CDN}.js cannot be loaded (<urlopen error Name or service not known>); --scripts", 1, 0),
        ("has no require.js, d3.min.js, jquery.min.js", 1, 1),
        ("it is not installed; pip install -r requirements-benchmarks.txt", 0, 0),
    ],
)
def test_without_bertviz_ours_is_measured_alone(
    reason: str,
    installed: int,
    scripts: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(explorer, "model_view", bertviz_page if installed else None)
    monkeypatch.setattr(explorer, "urlopen", no_network)
    monkeypatch.setattr(explorer, "LENGTHS", (16,))
    folder = tmp_path if scripts else None
    explorer.main(Namespace(checkpoint=ROOT / "checkpoints/en-fr", scripts=folder, rounds=1))
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("BertViz is left out: ")
    assert reason in first
    row = next(line.split() for line in lines if line.strip().startswith("16 "))
    assert float(row[1]) > 0  # megabytes
    assert float(row[2]) > 0  # milliseconds until it is painted
    assert row[3:] == ["—", "—"]
    assert "16 tokens   median" in lines[-1]
