"""The folder of a training run: everything that is written and read there, without torch.

The trainer writes while pages read: whole files are written atomically, and readers skip incomplete
lines and snapshots without an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from transformer.config import did_you_mean
from transformer.text.door import is_shown_title
from transformer.text.files import (
    Stamp,
    atomic_path,
    file_error_reason,
    file_stamp,
    read_json,
    read_json_or_empty,
    try_lock,
    write_json,
    write_text,
)
from transformer.training.run_config import RunConfig, parse, parse_title_and_owner

_CONCURRENT_WRITES = (".control.json.", ".job.json.", ".state.json.")
Status = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]
Command = Literal["run", "pause", "stop"]
Snapshot = dict[str, npt.NDArray[np.float16]]


class RunError(ValueError):
    """A run folder cannot be used; the message gives the reason."""


class BusyError(RunError):
    """Another process is training in the folder."""


class TrainingError(RuntimeError):
    """Training cannot continue; the message gives the reason and the step."""


@dataclass(frozen=True)
class Control:
    """The content of control.json.

    Attributes:
        command: "run", "pause" or "stop".
        learning_rate_factor: factor of the schedule's learning rate, 0 to 100.
        save: a counter; the run is saved whenever it has increased.
    """

    command: str = "run"
    learning_rate_factor: float = 1.0
    save: int = 0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Control:
        """Return a Control with defaults for missing fields; unknown fields are ignored.

        Raises ValueError for an invalid value.
        """
        command, factor = values.get("command", "run"), values.get("learning_rate_factor", 1.0)
        save = values.get("save", 0)
        if command not in get_args(Command):
            known = ", ".join(get_args(Command))
            hint = did_you_mean(str(command), get_args(Command))
            raise ValueError(f"the command must be one of {known}, not {command!r}{hint}")
        if not isinstance(factor, int | float) or not 0 <= factor <= 100:  # no NaN either
            raise ValueError(f"learning_rate_factor must be from 0 to 100, not {factor!r}")
        if not isinstance(save, int) or save < 0:
            raise ValueError(f"save must be a count, 0 or more, not {save!r}")
        return cls(command, float(factor), save)


@dataclass
class LoopState:
    """State of the training loop: what the next step depends on besides weights and Adam."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # next batch of this epoch's plan
    seconds: float = 0.0  # training time, over all starts
    best_valid: float = float("inf")
    worse: int = 0  # validations since the best one
    precision: str = ""


class RunFolder:
    """The files of one run. Writes are atomic, except that lines are appended to metrics.jsonl and
    examples.jsonl.

    config.json     model, training and data settings
    metrics.jsonl   one line per step: {"step", "loss", …}; validation lines have "valid_loss"
    state.json      {"status", "reason", "step", …}, updated with every save
    control.json    commands to the running trainer
    snapshots/00000120.npz  attention of the probes at that step, `{probe}.{kind}`:
                    (layers, heads, query, key), float16; kinds as in `Trace.weights`
    snapshots/labels.json   tokens of each probe: {"src", "tgt", "predicted"}
    examples.jsonl  one line per evaluation:
                    {"step", "examples": [{"src", "tgt", "output", "right"}]}
    inspect.json    corner of one matrix, its gradient, Adam's moments and the update
    vocabulary.model, train.arrow, valid.arrow: the encoded text
    text.sha256     checksums of the files that it was read from, in the order of `TrainingPairs`
    resume.safetensors  weights, Adam's moments and the `LoopState`
    weights/        the last saved weights, for averaging
    checkpoint/     the averaged model, as pages and commands load it
    lock            locked by the process that trains here; contains its process id
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path = Path(path)
        self.metrics_path = path / "metrics.jsonl"
        self.examples_path = path / "examples.jsonl"
        self.inspect_path = path / "inspect.json"
        self.control_path = path / "control.json"
        self.vocabulary_path = path / "vocabulary.model"
        self.resume_path = path / "resume.safetensors"
        self.weights_path = path / "weights"
        self.snapshots_path = path / "snapshots"

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

    def check_files(self, files: Sequence[str | os.PathLike[str]]) -> None:
        """Store the checksums of the text files, or compare them with those stored.

        Text that is not encoded completely is deleted if a file has changed; when all of it is
        encoded, the files may be missing. Raises RunError for a file that has changed since then.
        """
        path = self.path / "text.sha256"
        stored = path.read_text("utf-8").splitlines() if path.is_file() else []
        current = []
        for number, file in enumerate(files):
            if self.is_prepared and number < len(stored) and not os.path.exists(file):
                current.append(stored[number])
                continue
            with open(file, "rb") as content:
                current.append(hashlib.file_digest(content, "sha256").hexdigest())
        changed = [
            file for file, before, now in zip(files, stored, current, strict=False) if now != before
        ]
        if changed and self.is_prepared:
            raise RunError(
                f"{changed[0]} has changed since {self.path} was started with it: restore the "
                "file, or use another run folder"
            )
        if changed:
            self.delete_text()
        lines = [*current, *stored[len(current) :]]
        if lines != stored:
            write_text(path, "\n".join(lines) + "\n")

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
        path = self.path / "lock"
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                lock = try_lock(path)
                if lock is None:
                    raise BusyError(
                        f"process {path.read_text('utf-8') or '(unknown)'} is training in "
                        f"{self.path}; wait until it ends, or give another run folder"
                    )
                stack.enter_context(lock)
                lock.truncate(0)
                lock.write(str(os.getpid()).encode())
                lock.flush()
            except OSError as error:
                raise RunError(
                    f"the run folder {self.path} cannot be written to: {error.strerror}"
                ) from error
            self._delete_temporary_files()
            yield

    def _delete_temporary_files(self) -> None:
        """Delete the temporary files of a killed process, but not those that a page may be writing
        at this moment."""
        for folder in (self.path, self.weights_path, self.snapshots_path):
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
        stamp = file_stamp(path)
        return _cached_config(path, stamp) if stamp else _parse_config(path)

    def readable_config(self) -> RunConfig:
        """Return the config, or only title and owner if the rest is invalid."""
        with suppress(RunError):
            return self.config()
        values = read_json_or_empty(self.path / "config.json")
        return _with_shown_title(parse_title_and_owner(values))

    def write_state(self, status: Status, reason: str = "", **more: Any) -> None:
        """Write state.json: the status, its reason and other fields."""
        self._write("state.json", {"status": status, "reason": reason, **more})

    def change_state(self, status: Status, reason: str = "") -> None:
        """Change status and reason and keep the other fields. Raises OSError."""
        state = read_json_or_empty(self.path / "state.json")
        self.write_state(**{**state, "status": status, "reason": reason})

    def state(self) -> dict[str, Any]:
        """Return the content of state.json. Raises RunError if it cannot be read."""
        return self._read("state.json")

    def control(self) -> Control:
        """Return the content of control.json, or the default if it is missing or unreadable."""
        try:
            return Control.from_dict(read_json_or_empty(self.control_path))
        except ValueError:
            return Control()

    def write_control(self, **changes: Any) -> Control:
        """Change fields of `Control` in control.json; the trainer reads it at its next step.

        Raises ValueError for an invalid command, factor or counter.
        """
        control = Control.from_dict({**asdict(self.control()), **changes})
        self._write("control.json", asdict(control))
        return control

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        _append(self.metrics_path, line)

    def append_examples(self, step: int, examples: Sequence[Mapping[str, Any]]) -> None:
        """Append the model's translations of held-out pairs after this step."""
        _append(self.examples_path, {"step": step, "examples": examples})

    def write_snapshot(
        self,
        step: int,
        attention: Mapping[str, npt.NDArray[Any]],
        labels: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write the attention of this step, and the labels, which are the same at all steps."""
        labels_path = self.snapshots_path / "labels.json"
        if not labels_path.is_file():
            write_json(labels_path, labels)
        path = self._snapshot_path(step)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **attention)  # type: ignore[arg-type]

    def write_inspect(self, update: Mapping[str, Any]) -> None:
        """Write the last update of the inspected matrix (`Moments`)."""
        write_text(self.inspect_path, json.dumps(update) + "\n")

    def rewind(self, step: int) -> None:
        """Delete metrics, snapshots and examples after `step`, which a resumed run writes again."""
        for path in (self.metrics_path, self.examples_path):
            if path.is_file():
                _drop_lines_after(step, path)
        for later_step in self.snapshots():
            if later_step > step:
                self._snapshot_path(later_step).unlink(missing_ok=True)

    def metrics(self, last_bytes: int = 0) -> list[dict[str, Any]]:
        """Return all complete lines, or (above 0) those of the `last_bytes` of the file; see
        `parse_metrics`."""
        return parse_metrics(_read_lines(self.metrics_path, last_bytes))

    def examples(self) -> list[dict[str, Any]]:
        """Return the lines of examples.jsonl, in order; lines of another shape are left out."""
        return [line for line in _json_lines(_read_lines(self.examples_path)) if _is_examples(line)]

    def snapshots(self) -> list[int]:
        """Return the steps that have a snapshot, in order."""
        return sorted(int(path.stem) for path in self.snapshots_path.glob("[0-9]*.npz"))

    def snapshot(self, step: int) -> Snapshot:
        """Return attention weights by "{probe}.{kind}"; empty if the file is not complete."""
        try:
            with np.load(self._snapshot_path(step), allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return {}

    def labels(self) -> list[dict[str, list[str]]]:
        """Return the tokens of every probe: "src", "tgt" (decoder input) and "predicted"."""
        try:
            labels = json.loads((self.snapshots_path / "labels.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        names = ("src", "tgt", "predicted")
        valid = isinstance(labels, list) and all(
            isinstance(label, dict) and all(_is_text_list(label.get(name)) for name in names)
            for label in labels
        )
        return labels if valid else []

    def inspect(self) -> dict[str, Any]:
        """Return the last recorded update of the inspected matrix (`Moments`); empty if none."""
        return read_json_or_empty(self.inspect_path)

    def loop_state(self) -> LoopState:
        """Return the loop state of the last save, or the initial one.

        Raises RunError if the file is truncated or not a resume file.
        """
        if not self.resume_path.is_file():
            return LoopState()
        try:
            with safe_open(self.resume_path, framework="np") as file:
                return LoopState(**json.loads((file.metadata() or {})["progress"]))
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise self.resume_error(f"it is truncated or not a resume file ({error})") from error

    def resume_error(self, reason: str) -> RunError:
        """Return the error for a resume file that cannot be used."""
        return RunError(
            f"{self.resume_path} cannot be resumed from: {reason}; give another run folder"
        )

    def _snapshot_path(self, step: int) -> Path:
        return self.snapshots_path / f"{step:08d}.npz"

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        write_json(self.path / name, values, indent=2)

    def _read(self, name: str) -> dict[str, Any]:
        return _read(self.path / name)


def parse_metrics(content: bytes) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl that have a step, with the values that are numbers, or
    tables of numbers by name."""
    return [
        {name: value for name, value in line.items() if _is_figure(value)}
        for line in _json_lines(content)
        if _is_step(line.get("step"))
    ]


def _is_figure(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(figure, float | int) for figure in value.values())
    return isinstance(value, float) or _is_step(value)


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _is_examples(line: Mapping[str, Any]) -> bool:
    texts, examples = ("src", "tgt", "output"), line.get("examples")
    return (
        _is_step(line.get("step"))
        and isinstance(examples, list)
        and all(
            isinstance(example, dict)
            and "right" in example
            and all(isinstance(example.get(name), str) for name in texts)
            for example in examples
        )
    )


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _json_lines(content: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects of the lines; invalid or incomplete lines are left out."""
    lines = []
    for raw in content.splitlines():
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):  # invalid JSON or UTF-8, or too deeply nested
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _read_lines(path: Path, last_bytes: int = 0) -> bytes:
    """Return the file from the first line that begins in its `last_bytes`, or (0) all of it."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, 2) - last_bytes) if last_bytes else 0
            file.seek(start)
            content = file.read()
    except OSError:
        return b""
    return content.partition(b"\n")[2] if start else content


def _drop_lines_after(step: int, path: Path) -> None:
    lines = [
        f"{json.dumps(line)}\n"
        for line in _json_lines(_read_lines(path))
        if _is_step(line.get("step")) and line["step"] <= step
    ]
    write_text(path, "".join(lines))


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@lru_cache(maxsize=4096)
def _cached_config(path: Path, stamp: Stamp) -> RunConfig:
    """Return the parsed config, cached by the version of the file."""
    return _parse_config(path)


def _parse_config(path: Path) -> RunConfig:
    values = _read(path)
    try:
        return _with_shown_title(parse(values))
    except ValueError as error:
        raise RunError(f"{path.parent.name}/config.json is invalid: {error}") from error


def _with_shown_title(config: RunConfig) -> RunConfig:
    """Return the config without a title that no page can show."""
    return config if is_shown_title(config.title) else replace(config, title="")


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except FileNotFoundError as error:
        raise RunError(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def as_training_error(error: Exception, step: int, batch_tokens: int) -> Exception:
    """Return a TrainingError for a full disk or missing memory, else `error` itself."""
    if isinstance(error, OSError):
        return TrainingError(
            f"a file could not be written at step {step} ({file_error_reason(error)}); once that "
            "is fixed, the run can be resumed from its last save"
        )
    if out_of_memory(error):
        return TrainingError(
            f"out of memory at step {step}: lower batch_tokens from {batch_tokens}, or use a "
            "smaller model"
        )
    return error


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python or torch means that memory could not be allocated."""
    memory_messages = ("not enough memory", "can't allocate memory")
    is_torch_error = isinstance(error, RuntimeError) and any(
        message in str(error) for message in memory_messages
    )
    # torch has an error class for GPUs only; compared by name, as importing torch is slow.
    class_names = {cls.__name__ for cls in type(error).__mro__}
    return is_torch_error or not class_names.isdisjoint({"MemoryError", "OutOfMemoryError"})
