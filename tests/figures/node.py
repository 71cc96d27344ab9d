"""The Node that Playwright brings, for scripts without a browser."""

from __future__ import annotations

import subprocess

from playwright._impl._driver import compute_driver_executable


def node(*given: str) -> subprocess.CompletedProcess[str]:
    """Node run with these options, to its end."""
    command = [compute_driver_executable()[0], *given]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
