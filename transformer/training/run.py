"""A training run is a folder: what it was asked to do, every step's figures, where it stands."""

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

from transformer.run_config import RunConfig, owned, parse
from transformer.text.files import read_json, write_json
from transformer.training.control_file import Control
from transformer.training.locks import AlreadyLockedError, signed
from transformer.training.snapshots import Snapshots, keep_until, whole_lines

_BESIDE = (".control.json.", ".job.json.", ".state.json.")
Status = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]


class RunError(ValueError):
    """A run folder that cannot be used; one sentence says why."""


class BusyError(RunError):
    """Another process trains in the folder."""


class RunFolder(Snapshots):
    """The files of one run. Every write is to a temporary name and then renamed, but metrics,
    which grow by whole lines.

    config.json     model, training and data, as asked for
    metrics.jsonl   one line a step: {"step", "loss", …}; validation lines have "valid_loss"
    state.json      {"status", "reason", "step", …}, brought up to date with every save
    control.json    what a person asks of the trainer while it runs (`control_file.py`)
    snapshots/, examples.jsonl, inspect.json: what `evaluation_callback.py` saw; `snapshots.py`
                    reads them
    vocabulary.model, train.arrow, valid.arrow: the text, encoded
    resume.safetensors  weights, Adam's moments and where the run stands
    weights/        the last saved weights, to average, and a few early ones
    checkpoint/     the model as every page and command can load it
    lock            the process that trains here
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(Path(path))

    # Names of files when they are asked for: a page looks into hundreds of folders for one each.
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
        """The encoded pairs of "train" or "valid"."""
        return self.path / f"{part}.arrow"

    @property
    def exists(self) -> bool:
        return (self.path / "config.json").is_file()

    @property
    def is_prepared(self) -> bool:
        """Whether all text is encoded; the validation pairs come last."""
        return self.text_path("valid").is_file()

    def forget_text(self) -> None:
        """Remove vocabulary and encoded pairs, to begin with another text."""
        for path in (self.vocabulary_path, *self.path.glob("*.arrow")):
            path.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if need be and keep every other process from training in it.

        What a killed process left half written is cleared away. Raises RunError if the folder
        cannot be made or written to; BusyError, which is one, if another process trains in it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"the run {self.path} is a file; give a folder, or a new name")
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(signed(self.path / "lock"))
            except AlreadyLockedError as error:
                raise BusyError(
                    f"process {error.owner} is training in {self.path}; wait for its end, or give "
                    "another run folder"
                ) from error
            except OSError as error:
                raise RunError(
                    f"the run folder {self.path} cannot be written to: {error.strerror}"
                ) from error
            self._sweep()
            yield

    def _sweep(self) -> None:
        """Remove the temporary files of a process that was killed while it wrote; what a page
        writes beside the trainer may be whole in a moment."""
        for folder in (self.path, self.path / "weights", self.snapshots_path):
            for pattern in (".*.tmp", ".tmp*", ".checkpoint.*"):  # ours, safetensors', a folder
                for left in folder.glob(pattern):
                    if left.is_dir():
                        shutil.rmtree(left)
                    elif not left.name.startswith(_BESIDE):
                        left.unlink(missing_ok=True)

    def write_config(self, config: RunConfig) -> None:
        self._write("config.json", config.to_dict())

    def config(self) -> RunConfig:
        """Raises RunError if the folder holds no config.json, or one that is wrong."""
        path = self.path / "config.json"
        try:
            found = path.stat()
        except OSError:
            return _parsed(path)  # which says what is wrong
        return _config(path, (found.st_mtime_ns, found.st_size, found.st_ino))

    def title_and_owner(self) -> RunConfig:
        """`config`; of a spoilt one what can be read of these two."""
        try:
            return self.config()
        except RunError:
            pass
        try:
            return owned(self._read("config.json"))
        except RunError:
            return RunConfig()

    def write_state(self, status: Status, reason: str = "", **more: Any) -> None:
        """The one status field, and why."""
        self._write("state.json", {"status": status, "reason": reason, **more})

    def change_state(self, status: Status, reason: str = "") -> None:
        """Another status; step, device and the rest stay. Raises OSError."""
        more: dict[str, Any] = {}
        with suppress(RunError):
            more = self.state()
        said = ("status", "reason")
        self.write_state(status, reason, **{k: v for k, v in more.items() if k not in said})

    def state(self) -> dict[str, Any]:
        """Raises RunError if the folder holds no readable state.json."""
        return self._read("state.json")

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        _append(self.metrics_path, line)

    def append_examples(self, step: int, examples: Sequence[Mapping[str, Any]]) -> None:
        """What the model wrote for some held-out pairs after this step."""
        _append(self.examples_path, {"step": step, "examples": examples})

    def metrics(self) -> list[dict[str, Any]]:
        """Every whole line; one that a kill cut off is left out."""
        return whole_lines(self.metrics_path)

    def control(self) -> Control:
        """What was asked last; the default if nothing was, or the file cannot be read just now."""
        try:
            return Control.from_dict(self._read("control.json"))
        except ValueError:
            return Control()

    def write_control(self, **changes: Any) -> Control:
        """Ask for what was asked last, with `changes` (fields of `Control`); the trainer obeys at
        its next step. Raises ValueError for a command or a factor that there is not."""
        asked = Control.from_dict({**self.control().to_dict(), **changes})
        self._write("control.json", asked.to_dict())
        return asked

    def rewind(self, step: int) -> None:
        """Drop the lines after `step`: a resumed run takes those steps again."""
        keep_until(step, self.metrics_path)
        self.forget_seen(step)

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        write_json(self.path / name, values, indent=2)

    def _read(self, name: str) -> dict[str, Any]:
        return _read(self.path / name)


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@lru_cache(maxsize=4096)
def _config(path: Path, stamp: tuple[int, ...]) -> RunConfig:
    """Parsed once, for all who look."""
    return _parsed(path)


def _parsed(path: Path) -> RunConfig:
    values = _read(path)
    try:
        return parse(values)
    except ValueError as error:
        raise RunError(f"{path.parent.name}/config.json is wrong: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except FileNotFoundError as error:
        raise RunError(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error


@dataclass
class Progress:
    """Where a run stands: all that its next step depends on besides weights and Adam."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # next batch of this epoch's plan
    seconds: float = 0.0  # of training so far, over all starts
    best_valid: float = float("inf")
    worse: int = 0  # validations since the best
    precision: str = ""  # what "auto" chose: a resumed run does not choose again


def load_progress(run: RunFolder) -> Progress:
    """Where the run stood when it was last saved, read without torch; the very start if it never
    was. Raises RunError if the file is cut off or is none of ours."""
    if not run.resume_path.is_file():
        return Progress()
    try:
        with safe_open(run.resume_path, framework="np") as file:
            return Progress(**json.loads((file.metadata() or {})["progress"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise cannot_resume(run, f"it is cut off or of another kind ({error})") from error


def cannot_resume(run: RunFolder, why: str) -> RunError:
    """The error of a save that does not fit, and what to do."""
    return RunError(f"{run.resume_path} cannot be resumed from: {why}; give another run folder")
