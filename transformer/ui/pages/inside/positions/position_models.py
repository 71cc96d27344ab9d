"""Models whose positions can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from transformer.analysis.positions import LENGTH_TASKS
from transformer.api.model_description import run_config
from transformer.inference import Translator
from transformer.text.files import read_json
from transformer.text.tasks import TASKS
from transformer.training.run_config import TaskRun
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.services import models

MAX_LOADED = 4
"""Maximum number of models in memory."""


@dataclass(frozen=True)
class PositionModel:
    """A checkpoint that the visitor may choose, and its training data.

    Attributes:
        trained_positions: positions that occurred in training; 0 if unknown.
        task, options: as in `transformer.text.tasks`; "" and () for other text.
        stamp: modification time of the weights.
    """

    name: str
    label: str
    path: Path
    positions: str
    trained_positions: int
    task: str
    options: tuple[tuple[str, int], ...]
    stamp: int

    @property
    def longest(self) -> int:
        return dict(self.options).get("longest", 0)

    @property
    def translator(self) -> Translator:
        """Return the loaded model, from a cache separate from that of the pages' models.
        Raises CheckpointError, a ValueError, for an invalid checkpoint."""
        return _loaded(self.path, self.stamp)


def list_models() -> list[PositionModel]:
    """Return every model that the visitor can choose, and the one in the address, of any owner."""
    folders, selected, position_models = models.checkpoints(), state.view(Inside).learned, []
    in_address = {selected: selected} if selected in folders else {}
    for name, label in {**in_address, **models.choices()}.items():
        path = folders[name]
        try:
            stamp = (path / "model.safetensors").stat().st_mtime_ns
            positions, task, options = _read_description(path, stamp)
        except (OSError, ValueError):
            continue  # other pages report the problem
        longest = dict(options).get("longest", 0)
        n_positions = longest + 1 if longest else 0  # one more for `</s>` or `<s>`
        position_models.append(
            PositionModel(name, label, path, positions, n_positions, task, options, stamp)
        )
    return position_models


@lru_cache(maxsize=MAX_LOADED)
def _loaded(path: Path, stamp: int) -> Translator:
    return Translator.load(path)


@lru_cache(maxsize=256)
def _read_description(path: Path, stamp: int) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    """Return the kind of positions, the task and the task's options of a checkpoint."""
    positions = str(read_json(path / "config.json").get("positions", ""))
    run = run_config(path)
    if not isinstance(run, TaskRun) or run.task not in TASKS:
        return positions, "", ()
    task_options = (
        (name, run.options[name]) for name in TASKS[run.task].options if name in run.options
    )
    return positions, run.task if run.task in LENGTH_TASKS else "", tuple(task_options)
