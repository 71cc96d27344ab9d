"""Stands in for what is computed, in the other process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformer.jobs.results import NO_ROOM


def compute(given: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """`what` says what happens; every start is a line in the folder `root`."""
    what = given["what"]
    with (Path(given["root"]) / "starts").open("a") as file:
        file.write(f"{what}\n")
    progress(0.5, "half way")
    if what == "parts":
        progress(0.6, "one part", {"lines": [1]})
    if what in ("long", "parts"):
        time.sleep(600)
    while what == "held" and not (Path(given["root"]) / "go").exists():
        time.sleep(0.01)
    if what == "busy":
        while True:
            pass
    if what == "fails":
        raise ValueError("no such ruler")
    if what == "file":
        Path(given["file"]).write_bytes(b"made")
    if what == "breaks":
        os._exit(9)
    if what == "full":
        os._exit(NO_ROOM)
    if what == "talks":
        print("no answer of a process\n" * 10)
    if what == "large":
        bytearray(8_000_000_000)
    niceness = os.nice(0) if hasattr(os, "nice") else None
    return {"given": dict(given), "nice": niceness, "process": os.getpid()}
