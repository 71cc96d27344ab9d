"""What may be given with a run: its owner's id, and the files that lie beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.jobs.errors import JobError
from transformer.run_config import FilesRun, PairsRun, TrainingRun

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a run, or a file of it, may be called: it never leaves its folder."""
_OURS = re.compile(
    r"(config|state|job|control|inspect)\.json|(metrics|examples)\.jsonl|lock|job\.lock|log\.txt"
    r"|vocabulary\.model|(train|valid)\.arrow|resume\.safetensors|weights|checkpoint|snapshots",
    re.IGNORECASE,
)


def check_owner(owner: str) -> None:
    if not 0 < len(owner) <= 200:
        raise JobError("a run needs an owner, an id of 1 to 200 characters")


def check_files(config: TrainingRun, files: Mapping[str, bytes]) -> None:
    """A run reads what we make or what came with it, and nothing else of this machine.

    Raises:
        JobError: for a file's name that is no plain name or one of ours, or data from elsewhere.
    """
    for name in files:
        if not NAME.fullmatch(name) or _OURS.fullmatch(name):
            raise JobError(
                f"a file cannot be called {name[:60]!r}: letters, digits, dots, - and _ make a "
                "name, and the names of a run folder's own files are taken"
            )
    if isinstance(config, PairsRun) and config.pairs not in files:
        raise JobError(f"the run's pairs, {config.pairs[:60]!r}, did not come with it")
    if isinstance(config, FilesRun):
        raise JobError("a run in the app cannot read files of the machine: give a task, or pairs")
