"""A training run is a folder: what it was asked to do, every step's figures, and where it stands."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from transformer.text.files import atomic_path

Status = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]


class RunError(ValueError):
    """A run folder that cannot be used; one sentence says why."""


class RunFolder:
    """The files of one run. Every write is to a temporary name and then renamed, but metrics,
    which grow by whole lines.

    config.json     model, training and data, as asked for
    metrics.jsonl   one line a step: {"step", "loss", …}; validation lines have "valid_loss"
    state.json      {"status", "reason", "step", …}
    vocabulary.model, train.arrow, valid.arrow: the text, encoded
    resume.safetensors  weights, optimizer and the last weights to average
    checkpoint/     the model as every page and command can load it
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.metrics_path = self.path / "metrics.jsonl"
        self.resume_path = self.path / "resume.safetensors"
        self.vocabulary_path = self.path / "vocabulary.model"
        self.checkpoint_path = self.path / "checkpoint"

    @property
    def exists(self) -> bool:
        return (self.path / "config.json").is_file()

    def write_config(self, config: Mapping[str, Any]) -> None:
        self._write("config.json", config)

    def config(self) -> dict[str, Any]:
        """Raises RunError if the folder holds no readable config.json."""
        return self._read("config.json")

    def write_state(self, status: Status, reason: str = "", **more: Any) -> None:
        """The one status field, and why."""
        if status not in get_args(Status):
            raise RunError(f"status must be one of {', '.join(get_args(Status))}, not {status!r}")
        self._write("state.json", {"status": status, "reason": reason, **more})

    def state(self) -> dict[str, Any]:
        """Raises RunError if the folder holds no readable state.json."""
        return self._read("state.json")

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Every whole line; one that a kill cut off is left out."""
        if not self.metrics_path.is_file():
            return []
        lines = []
        for text in self.metrics_path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                continue
        return lines

    def rewind(self, step: int) -> None:
        """Drop the lines after `step`: a resumed run takes those steps again."""
        kept = [json.dumps(line) for line in self.metrics() if line["step"] <= step]
        with atomic_path(self.metrics_path) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        with atomic_path(self.path / name) as temporary:
            temporary.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise RunError(f"{self.path} is not a run folder: it has no {name}") from error
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error
        if not isinstance(values, dict):
            raise RunError(f"{path} must hold a JSON object, not {type(values).__name__}")
        return values
