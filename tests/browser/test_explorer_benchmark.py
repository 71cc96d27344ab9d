"""`benchmarks.explorer` without BertViz' scripts: it says so and measures the explorer alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import explorer
from tests.live_app import ROOT

UNREACHABLE = "https://127.0.0.1:1/d3.min.js"
PAGE = f'<script>require.config({{paths: {{d3: "{UNREACHABLE}"}}}})</script>'
# Playwright's synchronous API needs a process without an event loop.
PROGRAM = f"""
import argparse
from pathlib import Path
from types import SimpleNamespace
from benchmarks import explorer
explorer.LENGTHS = (16,)
explorer.model_view = lambda **_: SimpleNamespace(data={PAGE!r})
checkpoint = explorer.ROOT / "checkpoints" / "en-fr"
explorer.main(argparse.Namespace(checkpoint=checkpoint, scripts=None, rounds=1))
"""


@pytest.mark.slow
@pytest.mark.browser
def test_without_a_network_the_explorer_is_measured_alone() -> None:
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert process.returncode == 0, process.stderr
    message, *lines = process.stdout.splitlines()
    assert message.startswith(f"BertViz is not measured: {UNREACHABLE} cannot be loaded (")
    assert message.endswith("; --scripts FOLDER measures without a network.")
    assert "Traceback" not in process.stderr
    (model_view,) = [line.split() for line in lines if line.split()[:1] == ["16"] and "—" in line]
    assert float(model_view[1]) > 0.1  # megabytes
    assert float(model_view[2]) > 10  # milliseconds
    assert any(line.split()[:2] == ["16", "tokens"] for line in lines)  # the Heads view too


def test_the_scripts_that_a_folder_lacks_are_named(tmp_path: Path) -> None:
    (tmp_path / "require.js").touch()
    missing = explorer.missing_scripts(PAGE, tmp_path)
    assert missing == f"{tmp_path} has no d3.min.js, jquery.min.js"
    for name in explorer.SCRIPTS.values():
        (tmp_path / name).touch()
    assert explorer.missing_scripts(PAGE, tmp_path) is None
