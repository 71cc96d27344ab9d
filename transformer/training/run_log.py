"""Send a run's figures to an experiment tracker: TensorBoard, trackio or Weights & Biases.

    python -m transformer train --task reverse --run-folder runs/reverse --log tensorboard

Each tracker is an optional package (`pip install "heads-up[tensorboard]"`, "heads-up[trackio]",
"heads-up[wandb]"). Scalars have the usual names ("train/loss", "valid/bleu"); every snapshot of the
attention becomes one image per kind, with a row per layer and a column per head.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from transformer.training.run import RunFolder

Tracker = Literal["tensorboard", "trackio", "wandb"]
TRACKERS: tuple[Tracker, ...] = get_args(Tracker)
PROJECT = "heads-up"
Image = npt.NDArray[np.uint8]
_CELL = 8  # pixels of one attention weight, in each direction
_NOT_SCALARS = {"step", "share", "elapsed", "tokens", "seconds", "aer_layer"}


class Writer(Protocol):
    """The interface of a tracker, as `RunLog` uses it."""

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Log figures of one step, by name."""

    def image(self, name: str, image: Image, step: int) -> None:
        """Log one image, (height, width, 3)."""

    def close(self) -> None:
        """Write all pending figures."""


class TensorBoardWriter:
    """Writes event files to `RUN/tensorboard`, which `tensorboard --logdir` reads."""

    def __init__(self, run: RunFolder, step: int) -> None:
        """`step` is the last one of an earlier start; later points of it are hidden."""
        from torch.utils.tensorboard import SummaryWriter

        purge_step = step + 1 if step else None
        self._writer: Any = SummaryWriter(str(run.path / "tensorboard"), purge_step=purge_step)

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def image(self, name: str, image: Image, step: int) -> None:
        self._writer.add_image(name, image, step, dataformats="HWC")

    def close(self) -> None:
        self._writer.close()


class WandbWriter:
    """Logs to Weights & Biases, or to trackio, which has the same functions."""

    def __init__(self, name: Literal["trackio", "wandb"], run: RunFolder) -> None:
        self._tracker: Any = importlib.import_module(name)
        options = {"trackio": {"resume": "allow"}, "wandb": {"dir": str(run.path)}}[name]
        self._tracker.init(
            project=PROJECT, name=run.path.name, config=run.config().to_dict(), **options
        )

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        self._tracker.log(dict(values), step=step)

    def image(self, name: str, image: Image, step: int) -> None:
        self._tracker.log({name: self._tracker.Image(image)}, step=step)

    def close(self) -> None:
        self._tracker.finish()


def check_tracker(name: Tracker) -> None:
    """Raise ValueError if the tracker's package is not installed."""
    try:
        installed = importlib.util.find_spec(name) is not None
    except ValueError:  # a module without a specification, or one that is blocked
        installed = sys.modules.get(name) is not None
    if not installed:
        raise ValueError(f'--log {name} needs the package {name}: pip install "heads-up[{name}]"')


class RunLog(AbstractContextManager["RunLog"]):
    """Logs a run: called with each line of metrics.jsonl, in a `with` block."""

    def __init__(self, run: RunFolder, tracker: Tracker, step: int = 0) -> None:
        """Open the tracker. `step` is the last one of an earlier start, 0 for a new run.

        Raises ValueError as `check_tracker`.
        """
        check_tracker(tracker)
        self.run = run
        self.writer: Writer = (
            TensorBoardWriter(run, step) if tracker == "tensorboard" else WandbWriter(tracker, run)
        )
        self._logged_steps = {logged for logged in run.snapshots() if step and logged <= step}

    def __call__(self, line: Mapping[str, Any]) -> None:
        # A tracker needs ascending steps, and a snapshot belongs to the previous step.
        self._log_snapshots()
        if values := scalars(line):
            self.writer.scalars(values, int(line["step"]))

    def __exit__(self, *_: object) -> None:
        self._log_snapshots()
        self.writer.close()

    def _log_snapshots(self) -> None:
        """Log the first probe's attention of every snapshot that is new."""
        for step in self.run.snapshots():
            if step in self._logged_steps:
                continue
            self._logged_steps.add(step)
            for name, weights in self.run.snapshot(step).items():
                probe, _, kind = name.partition(".")
                if probe == "0":
                    self.writer.image(f"attention/{kind}", mosaic(weights), step)


def scalars(line: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a line of metrics.jsonl by their usual names.

    Lines of a step are "train/…", those of a validation "valid/…". Tokens and seconds become
    "train/tokens_per_second"; lists and nested values are left out.
    """
    group = "valid" if "valid_loss" in line else "train"
    values = {
        f"{group}/{name.removeprefix('valid_')}": float(value)
        for name, value in line.items()
        if isinstance(value, (int, float)) and name not in _NOT_SCALARS
    }
    if group == "train" and line.get("seconds"):
        values["train/tokens_per_second"] = line["tokens"] / line["seconds"]
    return values


def mosaic(weights: npt.NDArray[np.floating]) -> Image:
    """Return attention weights (layers, heads, query, key) as one image, (height, width, 3).

    White is 0 and black is 1, on a square-root scale; lines separate layers (rows) and heads
    (columns).
    """
    layers, heads, rows, columns = weights.shape
    shade = 255 * (1 - np.sqrt(np.clip(weights.astype(np.float32), 0, 1)))
    cells = shade.round().astype(np.uint8).repeat(_CELL, axis=2).repeat(_CELL, axis=3)
    framed = np.full((layers, heads, rows * _CELL + 2, columns * _CELL + 2), 160, dtype=np.uint8)
    framed[:, :, 1:-1, 1:-1] = cells
    image = framed.transpose(0, 2, 1, 3).reshape(layers * framed.shape[2], -1)
    return np.repeat(image[..., None], 3, axis=2)
