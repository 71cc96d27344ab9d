"""Models whose positions can be compared, and the training of a pair for the comparison."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from transformer.analysis.positions import LENGTH_TASKS
from transformer.inference import Translator
from transformer.jobs import JobError
from transformer.text.files import read_json
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TaskRun, TrainingRun
from transformer.ui.base import state, visitor
from transformer.ui.base.model_description import run_config
from transformer.ui.pages.inside import Inside
from transformer.ui.services import live_jobs, models
from transformer.ui.widgets import frame
from transformer.ui.widgets.callbacks import attempt, show_refusal, store_refusal
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

TASK, MAX_TRAINED_LENGTH = "reverse", 10
MAX_LEN = 16
"""Size of the pair's learned table: 5 more positions than occur in training."""
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
    """Return every model that the visitor can choose, and those in the address, of any owner."""
    folders, view, position_models = models.checkpoints(), state.view(Inside), []
    in_address = {name: name for name in (view.learned, view.run) if name in folders}
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


def training_button() -> None:
    """Draw a button that trains the pair, or the progress of the training."""
    visitor.ensure_id()
    if training_progress():
        return
    frame.callback_button(
        "Train both models", "play_arrow", _start, type="primary", key="positions-train"
    )
    st.caption(
        f"One model with learned positions, one with sinusoids. Both learn to reverse up to "
        f"{MAX_TRAINED_LENGTH} letters from the same examples, in about ten seconds each on an "
        "idle machine. "
        f"The learned table has {MAX_LEN} positions; training uses {MAX_TRAINED_LENGTH + 1} of "
        "them."
    )
    show_refusal("positions")


def _start() -> None:
    if not _training_run():  # ignore a double click
        attempt("positions", lambda: state.change(**_train()))


def _train() -> dict[str, str]:
    """Queue both runs and return the address fields that show them. Raises JobError if the first is
    rejected; if only the second is, the first runs alone."""
    jobs, visitor_id, address = live_jobs.jobs(), visitor.current_id(), visitor.address_hash()
    first = jobs.submit(_config("learned"), visitor_id, address=address, reuse=True)
    try:
        second = jobs.submit(_config("sinusoidal"), visitor_id, address=address, reuse=True)
    except JobError as error:
        store_refusal("positions", error)
        second = first
    return {"learned": first, "run": second}


def _config(kind: str) -> TrainingRun:
    return make_run_config(
        TASK,
        settings={"positions": kind, **({"max_len": MAX_LEN} if kind == "learned" else {})},
        options={"longest": MAX_TRAINED_LENGTH},
        title=f"Reverse, {kind} positions",
    )


def _training_run() -> str:
    """Return the first of the two runs that is still training or queued; "" if neither is."""
    for name in filter(None, (state.view(Inside).learned, state.view(Inside).run)):
        with suppress(JobError):
            if live_jobs.run_info(name).live:
                return name
    return ""


def training_progress() -> bool:
    """Draw the progress of the pair's training. Return whether it is still running."""
    name = _training_run()
    if name:
        fragment(_progress, "positions-waiting", POLL_SECONDS)(name)
    return bool(name)


def _progress(name: str) -> None:
    try:
        info = live_jobs.run_info(name)
    except JobError:
        state.rerun_page()
    if not info.live:
        state.rerun_page()
    status_text = f"step {info.step:,}" if info.status == "running" else info.status
    st.progress(info.progress or 0.0, text=frame.plain(f"{info.title}: {status_text}"))
    frame.page_link("pages/train.py", "Watch the training →", run=name, race="")
