"""`python -m transformer.jobs.compute_process`: a process that runs one computation after another.

It reads one JSON line for each from standard input: folder, function and limits. The folder
contains the arguments, ask.json. The process writes progress.json there during the computation and
result.json or failed.json at the end, all atomically. Then it prints the exit code on standard
output: 0 if there is a result.
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

from transformer.jobs.processes import limit_cpu_time, limit_memory
from transformer.jobs.results import (
    DISK_FULL,
    EXIT_DISK_FULL,
    EXIT_FAILED,
    FAILED,
    PROGRESS,
    REQUEST,
    RESULT,
    read_or_empty,
)
from transformer.text.files import write_json
from transformer.training.errors import out_of_memory

PROGRESS_SECONDS = 0.2  # minimum seconds between two writes of the progress
Function = Callable[[Mapping[str, Any], Callable[[float, str], None]], dict[str, Any]]


def run_function(
    folder: Path, function: Function, out_of_memory_reason: str = "out of memory"
) -> int:
    """Compute the result of a folder. Returns 0 if there is one, `EXIT_FAILED` if the reason of the
    failure is written, `EXIT_DISK_FULL` if it cannot be; `out_of_memory_reason` replaces the
    message of a memory error."""
    written_at = 0.0

    def progress(fraction: float, stage: str) -> None:
        nonlocal written_at
        if time.monotonic() >= written_at + PROGRESS_SECONDS:
            written_at = time.monotonic()
            with suppress(OSError):  # the disk was full; there may be space now
                write_json(folder / PROGRESS, {"progress": fraction, "stage": stage})

    try:
        write_json(folder / RESULT, function(read_or_empty(folder / REQUEST), progress))
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        reason = out_of_memory_reason if out_of_memory(error) else _error_reason(error)
        try:
            write_json(folder / FAILED, {"reason": reason})
        except OSError:
            return EXIT_DISK_FULL
        return EXIT_FAILED


def _error_reason(error: Exception) -> str:
    """Return the error message, without paths of this machine."""
    if isinstance(error, OSError):
        disk_is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return DISK_FULL if disk_is_full else str(error.strerror or error)
    return str(error) or type(error).__name__


def _read_requests(lines: queue.Queue[str]) -> None:
    """Pass input lines to the main thread; exit when the app closes the pipe."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(1)


def main(argv: list[str]) -> None:
    """Arguments: niceness, bytes of memory."""
    nice, max_bytes = map(int, argv)
    if hasattr(os, "nice"):
        os.nice(nice)
    limit = f"the limit of {max_bytes / 1e9:.1f} GB" if limit_memory(max_bytes) else "is available"
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_requests, args=(lines,), daemon=True).start()
    exit_codes = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output that a function prints must not be read as an exit code
    while True:
        request = json.loads(lines.get())
        if request["processor"]:
            limit_cpu_time(request["processor"])
        module, name = request["function"].split(":")
        out_of_memory_reason = f"it needs more memory than {limit}; {request['hint']}"
        code = run_function(
            Path(request["folder"]),
            getattr(importlib.import_module(module), name),
            out_of_memory_reason,
        )
        print(code, file=exit_codes, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
