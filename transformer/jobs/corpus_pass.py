"""`python -m transformer.jobs.corpus_pass`: the process that makes one pass over a corpus.

In a pass's folder it reads ask.json, and writes progress.json while it works and result.json, or
failed.json, at the end: whole files or none.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformer.jobs import bounds
from transformer.jobs.pass_files import (
    ASK,
    FAILED,
    LACKING,
    NO_ROOM,
    PROGRESS,
    RESULT,
    read,
    write,
)
from transformer.training.errors import out_of_memory

_TELL = 0.2  # seconds at least between two words on how far it is
Tell = Callable[[float, str], None]
Measure = Callable[[Mapping[str, Any], Tell], dict[str, Any]]


def measure(ask: Mapping[str, Any], progress: Tell) -> dict[str, Any]:
    """What `analyse --json` writes, for a checkpoint that must still be the one asked about.

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as the measuring does.
    """
    from transformer.analysis.corpora import Corpus
    from transformer.analysis.reports import report
    from transformer.checkpoint import checkpoint_hash
    from transformer.inference import Translator

    progress(0.0, "loading the model")
    folder = Path(ask["checkpoint"])
    if checkpoint_hash(folder) != ask["hash"]:
        raise ValueError(f"the checkpoint {folder.name} has changed meanwhile; ask again")
    translator = Translator.load(folder)
    corpus = Corpus.from_dict(ask["corpus"])
    return report(translator, corpus, ask["what"], ask["options"], progress).to_dict()


def make(folder: Path, function: Measure) -> int:
    """The pass of this folder; 0 if there is a result, 1 if there is a reason why not, and
    `NO_ROOM` if there is no room even for that."""
    told = 0.0

    def progress(share: float, doing: str) -> None:
        nonlocal told
        if time.monotonic() >= told + _TELL:
            told = time.monotonic()
            with suppress(OSError):  # a full disk: the result may still find room
                write(folder / PROGRESS, {"share": share, "doing": doing})

    try:
        write(folder / RESULT, function(read(folder / ASK), progress))
        return 0
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        reason = _why(error)
        try:
            write(folder / FAILED, {"reason": reason})
        except OSError:
            return NO_ROOM
        return 1


def _why(error: Exception) -> str:
    """What went wrong, without a path of this machine."""
    if out_of_memory(error):
        return "there is not enough memory for it"
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return LACKING if full else str(error.strerror or error)
    return str(error) or type(error).__name__


def _end_with_the_app() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def main(given: list[str]) -> int:
    """Arguments: the pass's folder, "module:function" of type `Measure`, niceness, bytes."""
    folder, name, nice, memory = given
    if hasattr(os, "nice"):
        os.nice(int(nice))
    bounds.memory(int(memory))
    threading.Thread(target=_end_with_the_app, daemon=True).start()
    module, function = name.split(":")
    return make(Path(folder), getattr(importlib.import_module(module), function))


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # all is written; torch takes its time to say good-bye
