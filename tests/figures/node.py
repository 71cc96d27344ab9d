"""Runs scripts in Playwright's Node, without a browser."""

from __future__ import annotations

import subprocess

from playwright._impl._driver import compute_driver_executable


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Node with these arguments and return the finished process."""
    command = [compute_driver_executable()[0], *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
