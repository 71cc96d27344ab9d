"""Runs the browser's model in Deno, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from transformer.ui.model_description import PARALLEL_EXAMPLES
from transformer.ui.widgets.lessons import course

DENO = Path(sys.executable).with_name("deno")
SCRIPT = Path(__file__).parent / "scripts" / "parity.js"
SENTENCES = tuple(
    dict.fromkeys(
        [
            *PARALLEL_EXAMPLES["en"],
            *(text for lesson in course.LESSONS if not lesson.task for text in lesson.sentences),
        ]
    )
)


def run_deno(*arguments: str) -> Any:
    """Return the JSON that parity.js prints for these arguments."""
    command = [str(DENO), "run", "--quiet", "--allow-read", str(SCRIPT), *arguments]
    process = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=240, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
