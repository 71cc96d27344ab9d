"""Stands in for the measuring of a corpus, in the process of a pass."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformer.jobs.pass_files import NO_ROOM


def measure(ask: Mapping[str, Any], progress: Callable[[float, str], None]) -> dict[str, Any]:
    """What is asked for says what happens; every start is a line in the folder `checkpoint`."""
    what = ask["what"]
    with (Path(ask["checkpoint"]) / "starts").open("a") as file:
        file.write(f"{what}\n")
    progress(0.5, "half way")
    if what == "long":
        time.sleep(600)
    if what == "fails":
        raise ValueError("no such ruler")
    if what == "breaks":
        os._exit(9)
    if what == "full":
        os._exit(NO_ROOM)
    corpus = [sentence[0] for sentence in ask["corpus"]["sentences"]]
    niceness = os.nice(0) if hasattr(os, "nice") else None
    return {"corpus": corpus, "options": ask["options"], "nice": niceness}
