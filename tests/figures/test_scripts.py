"""The pure logic of the browser's scripts: `scripts/*.test.js` import the real modules.
Playwright brings its own Node, so there is one wherever the tests are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

FOLDER = Path(__file__).parent / "scripts"
NODE = compute_driver_executable()[0]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.test.js")), ids=lambda file: file.name)
def test_the_scripts_do_what_their_tests_say(file: Path) -> None:
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=spec", str(file)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nℹ pass 0\n" not in done.stdout
