"""A job as a folder: the files that the queue adds to those of a run, uploads, and the archive."""

from __future__ import annotations

import io
import json
import os
import re
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from transformer.jobs.errors import JobError
from transformer.text.files import is_free, read_json_or_empty
from transformer.training.recipe import PAIRS_FILE
from transformer.training.run_config import FilesRun, PairsRun, TrainingRun
from transformer.training.run_folder import RunError, RunFolder, Status

_TAIL_BYTES = 16_384  # about fifty lines
MAX_NUMBER = 1e300


class JobFolder(RunFolder):
    """The folder of a job: a run folder with the files that the queue adds.

    job.json   {"turn": number in the order of submission, "first": whether it has priority,
               "worker": id of the last worker, "losses": how many workers were lost with it,
               "deleted": whether a user deleted the job,
               "holders": visitors who own it, if not the owner in config.json,
               "fingerprint": hash of all that the numbers of a run depend on; "" if it is not
               shared or a user changed its learning rate, "address": network address of the owner,
               "shared": whether others may see it, if its owner has set this}
    job.lock   held by the worker from claiming the job until it is released
    log.txt    what its worker prints

    A computation (`computation.py`) is such a folder without the trainer's files. A state is
    changed only with the queue's lock, or by the worker, which holds job.lock.
    """

    shipped = False
    """Whether the run is part of the app (`shipped.py`)."""

    @property
    def lock_path(self) -> Path:
        return self.path / "job.lock"

    @property
    def log_path(self) -> Path:
        return self.path / "log.txt"

    @property
    def name(self) -> str:
        return self.path.name

    def job(self) -> dict[str, Any]:
        """Return the content of job.json; empty for a run of the command line."""
        return read_json_or_empty(self.path / "job.json")

    def change_job(self, **values: Any) -> None:
        self._write("job.json", {**self.job(), **values})

    def status(self) -> Status | Literal[""]:
        """Return the status; "" if state.json cannot be read."""
        status: Status = read_json_or_empty(self.path / "state.json").get("status", "")
        return status if status in get_args(Status) else ""

    def holders(self, job: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Return the visitors who own it, the first one first.

        Args:
            job: the content of job.json, if it was read before.
        """
        stored = (self.job() if job is None else job).get("holders")
        if (
            stored
            and isinstance(stored, list)
            and all(isinstance(holder, str) and holder for holder in stored)
        ):
            return tuple(stored)
        owner = self.readable_config().owner
        return (owner,) if owner else ()

    @property
    def asked_at(self) -> float:
        """When a page last asked for it, in seconds since 1970; now if its folder is gone."""
        try:
            return (self.path / "job.json").stat().st_mtime
        except OSError:
            return time.time()

    def mark_asked(self) -> None:
        """Record that a page asks for it now."""
        with suppress(OSError):
            os.utime(self.path / "job.json")

    @property
    def is_held(self) -> bool:
        """Whether a worker or the command line holds the run."""
        return not (is_free(self.lock_path) and is_free(self.path / "lock"))

    def saved_step(self) -> int:
        """Return the step from which a resumed run continues; 0: from the beginning."""
        try:
            return self.loop_state().step
        except RunError:
            return 0

    def last_lines(self) -> list[dict[str, Any]]:
        """Return the last complete lines of metrics.jsonl."""
        return self.metrics(_TAIL_BYTES)

    def last_step(self) -> int:
        """Return the last step in metrics.jsonl."""
        return max((line["step"] for line in self.last_lines()), default=0)

    def reached_step(self) -> int:
        """Return the last step that was trained or saved."""
        return max(self.last_step(), self.saved_step())

    def restart_point(self) -> str:
        """Return from which step training continues: the last save, even if later steps were
        trained."""
        if saved := self.saved_step():
            return f"continues from the save at step {saved}"
        return "starts again at step 0, since nothing was saved"


def int_or_zero(value: object) -> int:
    return int(value) if isinstance(value, int | float) and is_number(value) else 0


def is_number(*values: object) -> bool:
    """Whether all values, read from a file, are finite numbers."""
    return all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -MAX_NUMBER < value < MAX_NUMBER
        for value in values
    )


def seconds_left(lines: list[dict[str, Any]]) -> float | None:
    """Estimate the remaining seconds from the rate of progress; None before the second step."""
    steps = [line for line in lines if is_number(line.get("share"), line.get("seconds"))]
    if len(steps) < 2 or steps[-1]["share"] <= steps[0]["share"]:
        return None
    progress = float(steps[-1]["share"] - steps[0]["share"])
    elapsed = float(sum(line["seconds"] for line in steps[1:]))
    return max(0.0, (1 - float(steps[-1]["share"])) * elapsed / progress)


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Valid names of runs; none can point outside its folder."""


def check_owner(owner: str) -> None:
    if not 0 < len(owner) <= 200:
        raise JobError("a run needs an owner, an id of 1 to 200 characters")


def check_data(config: TrainingRun, pairs: bytes) -> None:
    """Raise JobError unless a run reads only generated data or its own pairs, `pairs`."""
    if isinstance(config, PairsRun) and not (config.pairs == PAIRS_FILE and pairs):
        raise JobError(
            f"the file of pairs {config.pairs[:60]!r} is missing; upload pairs with the run, which "
            f"reads them from {PAIRS_FILE}"
        )
    if isinstance(config, FilesRun):
        raise JobError(
            "a run in the app cannot read the server's files; choose a task or upload pairs"
        )


def archive(folder: JobFolder) -> bytes:
    """Return a zip file with a folder named like the run: checkpoint/, config.json, metrics.jsonl.

    It does not contain the owner's id, which gives control of the run, nor the state for resuming.
    Raises JobError if there is no checkpoint yet, or a file cannot be read.
    """
    if not (folder.checkpoint_path / "config.json").is_file():
        raise JobError(
            f"{folder.name} has no checkpoint yet; wait until it is saved for the first time"
        )
    try:
        config = replace(folder.config(), owner="").to_dict()
        contents = {"config.json": (json.dumps(config, indent=2) + "\n").encode()}
        for name in ("metrics.jsonl", "examples.jsonl"):
            if (folder.path / name).is_file():
                contents[name] = (folder.path / name).read_bytes()
        for path in sorted(folder.checkpoint_path.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                contents[f"checkpoint/{path.name}"] = path.read_bytes()
    except (OSError, RunError) as error:
        raise JobError(f"{folder.name} could not be packed: {error}") from error
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in contents.items():
            file.writestr(f"{folder.name}/{name}", content)
    return buffer.getvalue()
