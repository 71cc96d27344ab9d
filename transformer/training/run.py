"""The folder of a training run: its config, the figures of every step, its state."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from transformer.run_config import RunConfig, parse, parse_title_and_owner
from transformer.text.files import read_json, write_json
from transformer.training.control_file import Control
from transformer.training.locks import AlreadyLockedError, pid_lock
from transformer.training.snapshots import Snapshots, drop_lines_after, read_json_lines

_CONCURRENT_WRITES = (".control.json.", ".job.json.", ".state.json.")
Status = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]


class RunError(ValueError):
    """A run folder cannot be used; the message gives the reason."""


class BusyError(RunError):
    """Another process is training in the folder."""


class RunFolder(Snapshots):
    """The files of one run. Writes are atomic, except that metrics are appended line by line.

    config.json     model, training and data settings
    metrics.jsonl   one line per step: {"step", "loss", …}; validation lines have "valid_loss"
    state.json      {"status", "reason", "step", …}, updated with every save
    control.json    commands to the running trainer (`control_file.py`)
    snapshots/, examples.jsonl, inspect.json: written by `evaluation_callback.py`, read by
                    `snapshots.py`
    vocabulary.model, train.arrow, valid.arrow: the encoded text
    resume.safetensors  weights, Adam's moments and the `LoopState`
    weights/        the last saved weights, for averaging, and a few early ones
    checkpoint/     the averaged model, as pages and commands load it
    lock            locked by the process that trains here; contains its process id
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(Path(path))

    # Properties, because a page creates hundreds of these objects and uses one path of each.
    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def resume_path(self) -> Path:
        return self.path / "resume.safetensors"

    @property
    def vocabulary_path(self) -> Path:
        return self.path / "vocabulary.model"

    @property
    def checkpoint_path(self) -> Path:
        return self.path / "checkpoint"

    def text_path(self, part: str) -> Path:
        """Return the path of the encoded pairs of "train", "valid" or "added-0", …"""
        return self.path / f"{part}.arrow"

    @property
    def exists(self) -> bool:
        return (self.path / "config.json").is_file()

    @property
    def is_prepared(self) -> bool:
        """Whether all text is encoded; the validation pairs are encoded last."""
        return self.text_path("valid").is_file()

    def delete_text(self) -> None:
        """Delete the vocabulary and the encoded pairs, so that another text can be used."""
        for path in (self.vocabulary_path, *self.path.glob("*.arrow")):
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder if needed, and lock it against other training processes.

        Deletes temporary files of a killed process. Raises RunError if the folder cannot be created
        or written to; BusyError, a subclass, if another process trains in it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"the run {self.path} is a file; give a folder, or a new name")
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(pid_lock(self.path / "lock"))
            except AlreadyLockedError as error:
                raise BusyError(
                    f"process {error.owner} is training in {self.path}; wait until it ends, or "
                    "give another run folder"
                ) from error
            except OSError as error:
                raise RunError(
                    f"the run folder {self.path} cannot be written to: {error.strerror}"
                ) from error
            self._delete_temporary_files()
            yield

    def _delete_temporary_files(self) -> None:
        """Delete the temporary files of a killed process, but not those that a page may be writing
        at this moment."""
        for folder in (self.path, self.path / "weights", self.snapshots_path):
            # Of this package, of safetensors, unfinished folders.
            for pattern in (".*.tmp", ".tmp*", ".checkpoint.*"):
                for leftover in folder.glob(pattern):
                    if leftover.is_dir():
                        shutil.rmtree(leftover)
                    elif not leftover.name.startswith(_CONCURRENT_WRITES):
                        leftover.unlink(missing_ok=True)

    def write_config(self, config: RunConfig) -> None:
        self._write("config.json", config.to_dict())

    def config(self) -> RunConfig:
        """Return the config. Raises RunError if config.json is missing or invalid."""
        path = self.path / "config.json"
        try:
            stat = path.stat()
        except OSError:
            return _parse_config(path)  # raises a RunError with the reason
        return _cached_config(path, (stat.st_mtime_ns, stat.st_size, stat.st_ino))

    def readable_config(self) -> RunConfig:
        """Return the config, or only title and owner if the rest is invalid."""
        try:
            return self.config()
        except RunError:
            pass
        try:
            return parse_title_and_owner(self._read("config.json"))
        except RunError:
            return RunConfig()

    def write_state(self, status: Status, reason: str = "", **more: Any) -> None:
        """Write state.json: the status, its reason and other fields."""
        self._write("state.json", {"status": status, "reason": reason, **more})

    def change_state(self, status: Status, reason: str = "") -> None:
        """Change status and reason and keep the other fields. Raises OSError."""
        state: dict[str, Any] = {}
        with suppress(RunError):
            state = self.state()
        changed = ("status", "reason")
        self.write_state(status, reason, **{k: v for k, v in state.items() if k not in changed})

    def state(self) -> dict[str, Any]:
        """Return the content of state.json. Raises RunError if it cannot be read."""
        return self._read("state.json")

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        _append(self.metrics_path, line)

    def append_examples(self, step: int, examples: Sequence[Mapping[str, Any]]) -> None:
        """Append the model's translations of held-out pairs after this step."""
        _append(self.examples_path, {"step": step, "examples": examples})

    def metrics(self) -> list[dict[str, Any]]:
        """Return all complete lines; a truncated last line is left out."""
        return read_json_lines(self.metrics_path)

    def control(self) -> Control:
        """Return the content of control.json, or the default if it is missing or unreadable."""
        try:
            return Control.from_dict(self._read("control.json"))
        except ValueError:
            return Control()

    def write_control(self, **changes: Any) -> Control:
        """Change fields of `Control` in control.json; the trainer reads it at its next step.

        Raises ValueError for an invalid command, factor or counter.
        """
        control = Control.from_dict({**self.control().to_dict(), **changes})
        self._write("control.json", control.to_dict())
        return control

    def rewind(self, step: int) -> None:
        """Delete metrics and snapshots after `step`, which a resumed run will write again."""
        drop_lines_after(step, self.metrics_path)
        self.delete_snapshots_after(step)

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        write_json(self.path / name, values, indent=2)

    def _read(self, name: str) -> dict[str, Any]:
        return _read(self.path / name)


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@lru_cache(maxsize=4096)
def _cached_config(path: Path, stamp: tuple[int, ...]) -> RunConfig:
    """Return the parsed config, cached by the file's time, size and inode."""
    return _parse_config(path)


def _parse_config(path: Path) -> RunConfig:
    values = _read(path)
    try:
        return parse(values)
    except ValueError as error:
        raise RunError(f"{path.parent.name}/config.json is invalid: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except FileNotFoundError as error:
        raise RunError(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error


@dataclass
class LoopState:
    """State of the training loop: what the next step depends on besides weights and Adam."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # next batch of this epoch's plan
    seconds: float = 0.0  # training time, over all starts
    best_valid: float = float("inf")
    worse: int = 0  # validations since the best one
    precision: str = ""  # chosen for "auto", and kept when the run resumes


def load_loop_state(run: RunFolder) -> LoopState:
    """Return the loop state of the last save, or the initial one; does not import torch.

    Raises RunError if the file is truncated or not a resume file.
    """
    if not run.resume_path.is_file():
        return LoopState()
    try:
        with safe_open(run.resume_path, framework="np") as file:
            return LoopState(**json.loads((file.metadata() or {})["progress"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise resume_error(run, f"it is truncated or not a resume file ({error})") from error


def resume_error(run: RunFolder, reason: str) -> RunError:
    """Return the error for a resume file that cannot be used."""
    return RunError(f"{run.resume_path} cannot be resumed from: {reason}; give another run folder")
