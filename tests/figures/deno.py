"""Runs scripts in Deno, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from transformer.ui.base.model_description import PARALLEL_EXAMPLES
from transformer.ui.widgets.lessons import course

DENO = Path(sys.executable).with_name("deno")
SCRIPTS = Path(__file__).parent / "scripts"
SENTENCES = tuple(
    dict.fromkeys(
        [
            *PARALLEL_EXAMPLES["en"],
            *(text for lesson in course.LESSONS if not lesson.task for text in lesson.sentences),
        ]
    )
)


def deno(*arguments: str) -> str:
    """Return what Deno prints for these arguments."""
    process = subprocess.run(
        [str(DENO), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def run_deno(*arguments: str) -> Any:
    """Return the JSON that parity.js prints for these arguments."""
    script = str(SCRIPTS / "parity.js")
    return json.loads(deno("run", "--quiet", "--allow-read", script, *arguments))


def drawn(view: str, data: bytes | dict[str, Any], n_forced: int = 0) -> Any:
    """Return what a view draws of its data: "explorer", "glance" or "table" (of steps)."""
    content = json.dumps(data).encode() if isinstance(data, dict) else data
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data"
        file.write_bytes(content)
        return run_deno(view, str(file), str(n_forced))
