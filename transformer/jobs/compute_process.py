"""`python -m transformer.jobs.compute_process`: computes what it is given, one after the other.

From standard input it reads a line for each: its folder, what to call, what it may take. In the
folder it reads ask.json, and writes progress.json while it works and result.json, or failed.json,
at the end: whole files or none. Then it writes a line to standard output: 0 if there is a result.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformer.jobs.processes import bound_memory, bound_processor
from transformer.jobs.results import ASK, FAILED, FAILURE, LACKING, NO_ROOM, PROGRESS, RESULT, read
from transformer.text.files import write_json
from transformer.training.errors import out_of_memory

_TELL = 0.2  # seconds at least between two words on how far it is
Function = Callable[[Mapping[str, Any], Callable[..., None]], dict[str, Any]]


def make(folder: Path, function: Function, lacking: str = "there is not enough memory") -> int:
    """The result of this folder: 0 if there is one, `FAILURE` if there is a reason why not, and
    `NO_ROOM` if there is no room even for that; `lacking` says that the memory was not enough."""
    written_at, so_far = 0.0, dict[str, Any]()

    def progress(fraction: float, stage: str, found: Mapping[str, Any] | None = None) -> None:
        nonlocal written_at
        so_far.update(found or {})
        if found is not None or time.monotonic() >= written_at + _TELL:
            written_at = time.monotonic()
            with suppress(OSError):  # a full disk: the result may still find room
                reported = {"progress": fraction, "stage": stage, "so_far": so_far}
                write_json(folder / PROGRESS, reported)

    try:
        write_json(folder / RESULT, function(read(folder / ASK), progress))
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        reason = lacking if out_of_memory(error) else _why(error)
        try:
            write_json(folder / FAILED, {"reason": reason, "so_far": so_far})
        except OSError:
            return NO_ROOM
        return FAILURE


def _why(error: Exception) -> str:
    """What went wrong, without a path of this machine."""
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return LACKING if full else str(error.strerror or error)
    return str(error) or type(error).__name__


def _listen(lines: queue.Queue[str]) -> None:
    """Lines for the main thread, until the app at the other end is gone."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(1)


def main(given: list[str]) -> None:
    """Arguments: niceness, bytes of memory."""
    nice, most = map(int, given)
    if hasattr(os, "nice"):
        os.nice(nice)
    held = f" of {most / 1e9:.1f} GB" if bound_memory(most) else ""
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a function prints is no answer
    while True:
        asked = json.loads(lines.get())
        if asked["processor"]:
            bound_processor(asked["processor"])
        module, name = asked["function"].split(":")
        lacking = f"the memory{held} is not enough for it; {asked['hint']}"
        code = make(Path(asked["folder"]), getattr(importlib.import_module(module), name), lacking)
        print(code, file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
