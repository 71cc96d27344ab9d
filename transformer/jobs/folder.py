"""A run folder in a queue: its turn, its worker, what may be given with it, what is taken home."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.jobs.errors import JobError
from transformer.run_config import FilesRun, PairsRun, TrainingRun
from transformer.training.locks import is_free
from transformer.training.run import RunError, RunFolder, load_loop_state
from transformer.training.snapshots import read_json_lines

_TAIL_BYTES = 16_384  # bytes: some fifty steps
MAX_NUMBER = 1e300


class JobFolder(RunFolder):
    """The files that the queue adds to those of a run.

    job.json   {"turn": place in the order of coming, "first": whether it stands before all that
               are not, "worker": who took it last, "deleted",
               "holders": the visitors whose run it is, if they are others than config.json says,
               "code": of this version of the app, "changed": whether somebody changed its learning,
               "address": where its owner asked from,
               "shared": whether others may see it, if its owner has said so}
    job.lock   held by the worker from taking the run until it is done with it
    log.txt    what the trainer printed

    Whoever changes a state holds the queue's lock, but the trainer, which holds job.lock.
    """

    shipped = False
    """Whether it came with the app (`shipped.py`)."""

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
        """Empty for a run that the command line began."""
        try:
            return self._read("job.json")
        except RunError:
            return {}

    def change_job(self, **values: Any) -> None:
        self._write("job.json", {**self.job(), **values})

    @property
    def is_held(self) -> bool:
        """Whether a worker has the run, or a command line trains in it."""
        return not (is_free(self.lock_path) and is_free(self.path / "lock"))

    def saved_step(self) -> int:
        """The step that a resumed run goes on from; 0: it begins again."""
        try:
            return load_loop_state(self).step
        except RunError:
            return 0

    def last_lines(self) -> list[dict[str, Any]]:
        """The end of metrics.jsonl, whole lines of steps alone."""
        lines = read_json_lines(self.metrics_path, _TAIL_BYTES)
        return [line for line in lines if is_number(line.get("step"))]

    def last_step(self) -> int:
        """The last step with a line in metrics.jsonl."""
        return max((line["step"] for line in self.last_lines()), default=0)


def is_number(*values: object) -> bool:
    """Whether all of them are finite numbers that a float can hold, as a run of ours writes them;
    what stands in a file may be anything."""
    return all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -MAX_NUMBER < value < MAX_NUMBER
        for value in values
    )


def seconds_left(lines: list[dict[str, Any]]) -> float | None:
    """From how fast the share of the run that is over has grown; None before the second step."""
    steps = [line for line in lines if is_number(line.get("share"), line.get("seconds"))]
    if len(steps) < 2 or steps[-1]["share"] <= steps[0]["share"]:
        return None
    progress = float(steps[-1]["share"] - steps[0]["share"])
    elapsed = float(sum(line["seconds"] for line in steps[1:]))
    return max(0.0, (1 - float(steps[-1]["share"])) * elapsed / progress)


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a run, or a file of it, may be called: it never leaves its folder."""
_RESERVED_NAMES = re.compile(
    r"(config|state|job|control|inspect)\.json|(metrics|examples)\.jsonl|lock|job\.lock|log\.txt"
    r"|vocabulary\.model|(train|valid)\.arrow|resume\.safetensors|weights|checkpoint|snapshots",
    re.IGNORECASE,
)


def check_owner(owner: str) -> None:
    if not 0 < len(owner) <= 200:
        raise JobError("a run needs an owner, an id of 1 to 200 characters")


def check_files(config: TrainingRun, files: Mapping[str, bytes]) -> None:
    """A run reads what we make or what came with it, and nothing else of this machine. Raises
    JobError for a file's name that is no plain name or one of ours, or data from elsewhere."""
    for name in files:
        if not NAME.fullmatch(name) or _RESERVED_NAMES.fullmatch(name):
            raise JobError(
                f"a file cannot be called {name[:60]!r}: letters, digits, dots, - and _ make a "
                "name, and the names of a run folder's own files are taken"
            )
    if isinstance(config, PairsRun) and config.pairs not in files:
        raise JobError(f"the run's pairs, {config.pairs[:60]!r}, did not come with it")
    if isinstance(config, FilesRun):
        raise JobError("a run in the app cannot read files of the machine: give a task, or pairs")


def archive(folder: JobFolder) -> bytes:
    """A zip with one folder of the run's name: checkpoint/, config.json, metrics.jsonl.

    The owner's id is left out, for it is what controls the run; so is the state to resume from.
    Raises JobError if there is no checkpoint yet, or a file cannot be read.
    """
    if not (folder.checkpoint_path / "config.json").is_file():
        raise JobError(f"{folder.name} has no checkpoint yet: it comes with the first save")
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
