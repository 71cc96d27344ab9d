"""Processes of ours beside the app: each runs one module and gives way to the app."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HOUSE = Path(__file__).resolve().parents[2]


def start(module: str, given: Sequence[str], threads: int) -> subprocess.Popen[bytes]:
    """`python -m module given…` with pipes for standard input and output. Raises OSError.

    When this process ends, however it does, the other end of its standard input is closed, so that
    it hears of it.
    """
    path = os.pathsep.join([str(_HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", module, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)},
        **_apart(),
    )


def _apart() -> dict[str, Any]:
    """So that Ctrl-C in the app's terminal reaches the app alone, and workers then hear of it."""
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | below}
    # Not a session of its own: Linux may share the cores between sessions, whatever `nice` says.
    return {"process_group": 0}
