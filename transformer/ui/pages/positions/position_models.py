"""Models whose positions can be compared: those there are, and a pair that is trained here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from transformer.analysis.positions import BEYOND
from transformer.inference import Translator
from transformer.jobs import JobError
from transformer.run_config import TaskRun, TrainingRun
from transformer.text.files import read_json
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.ui import state
from transformer.ui.about import run_config
from transformer.ui.pages.positions import Positions
from transformer.ui.services import live_jobs, models
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame
from transformer.ui.widgets.callbacks import attempt, show_refusal, store_refusal
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

TASK, LONGEST = "reverse", 10
PLACES = 16
"""Positions that the learned model of the pair is given: 5 more than it ever meets."""
MOST_LOADED = 4


@dataclass(frozen=True)
class PositionModel:
    """A checkpoint that the visitor may choose, and what it learned from.

    Attributes:
        places: positions that it met in training; 0 if that is not known.
        task, options: as in `transformer.text.tasks`; "" and nothing for other text.
        stamp: changes when its weights do.
    """

    name: str
    label: str
    path: Path
    positions: str
    places: int
    task: str
    options: tuple[tuple[str, int], ...]
    stamp: int

    @property
    def longest(self) -> int:
        return dict(self.options).get("longest", 0)

    @property
    def translator(self) -> Translator:
        """Loaded here, beside the models that the pages look at, so as not to push one of them
        out. Raises CheckpointError, a ValueError, for a broken one."""
        return _loaded(self.path, self.stamp)


def learners() -> list[PositionModel]:
    """Every checkpoint that is offered, and those that the address names, whoever's they are."""
    folders, view, found = models.checkpoints(), state.view(Positions), []
    named = {name: name for name in (view.learned, view.run) if name in folders}
    for name, label in {**named, **models.choices()}.items():
        path = folders[name]
        try:
            stamp = (path / "model.safetensors").stat().st_mtime_ns
            positions, task, options = _about(path, stamp)
        except (OSError, ValueError):
            continue  # another page says what is wrong with it
        longest = dict(options).get("longest", 0)
        places = longest + 1 if longest else 0  # `</s>` and `<s>` take one
        found.append(PositionModel(name, label, path, positions, places, task, options, stamp))
    return found


@lru_cache(maxsize=MOST_LOADED)
def _loaded(path: Path, stamp: int) -> Translator:
    return Translator.load(path)


@lru_cache(maxsize=256)
def _about(path: Path, stamp: int) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    """Positions, task and the task's own options of a checkpoint."""
    positions = str(read_json(path / "config.json").get("positions", ""))
    run = run_config(path)
    if not isinstance(run, TaskRun) or run.task not in TASKS:
        return positions, "", ()
    known = ((name, run.options[name]) for name in TASKS[run.task].options if name in run.options)
    return positions, run.task if run.task in BEYOND else "", tuple(known)


def offer() -> None:
    """Draw a button that trains the pair, or the progress of the training."""
    visitor.ensure_id()
    if waiting():
        return
    frame.callback_button(
        "Train both models", "play_arrow", _begin, type="primary", key="positions-train"
    )
    st.caption(
        f"One model with learned positions, one with sinusoids. Both learn to reverse up to "
        f"{LONGEST} letters from the same examples, in about ten seconds each on an idle machine. "
        f"The learned table has {PLACES} positions; training uses {LONGEST + 1} of them."
    )
    show_refusal("positions")


def _begin() -> None:
    if not _learning():  # not pressed twice
        attempt("positions", lambda: state.change(**_train()))


def _train() -> dict[str, str]:
    """Put the pair in line; the fields that look at it. Raises JobError where the first is
    refused; where only the second is, the first stands alone."""
    jobs, who, where = live_jobs.jobs(), visitor.current_id(), visitor.address_hash()
    first = jobs.submit(_config("learned"), who, address=where, reuse=True)
    try:
        second = jobs.submit(_config("sinusoidal"), who, address=where, reuse=True)
    except JobError as error:
        store_refusal("positions", error)
        second = first
    return {"learned": first, "run": second}


def _config(kind: str) -> TrainingRun:
    return make_run_config(
        TASK,
        settings={"positions": kind, **({"max_len": PLACES} if kind == "learned" else {})},
        options={"longest": LONGEST},
        title=f"Reverse, {kind} positions",
    )


def _learning() -> str:
    """The first of the two that still learns; "" if neither does."""
    for name in filter(None, (state.view(Positions).learned, state.view(Positions).run)):
        with suppress(JobError):
            if live_jobs.run_info(name).live:
                return name
    return ""


def waiting() -> bool:
    """Shows how far the pair has come while one of the two still learns."""
    name = _learning()
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
    told = f"step {info.step:,}" if info.status == "running" else info.status
    st.progress(info.progress or 0.0, text=frame.plain(f"{info.title}: {told}"))
    frame.page_link("pages/train.py", "Watch the training →", run=name, race="")
