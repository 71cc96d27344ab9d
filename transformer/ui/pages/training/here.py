"""A run that trains in the browser: the same page as in the static site."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from transformer.checkpoint import load_checkpoint
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import TabRun, read_runs
from transformer.exchange.model_file import unpack_model_file
from transformer.jobs import JobError
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TaskRun
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import Train
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.widgets import frame, views
from transformer.ui.widgets.callbacks import store_refusal

KEY = "trainer"
SETTINGS = (
    *("n_layers", "n_heads", "d_model", "d_ff", "positions", "score", "dropout", "steps", "seed"),
    *("learning_rate", "warmup", "cooldown", "label_smoothing", "clip_norm", "weight_decay"),
)
"""Settings of a run in the browser that a run of the app has too."""


def link(label: str, task: str) -> None:
    """Draw a link that begins to train this task in the browser."""
    frame.page_link("pages/train.py", label, here=f"task={task}", run="", form="")


def show() -> None:
    """Draw the page. The browser trains; the server keeps only the link of the run, and for a class
    its curves. Students of a class train with different seeds, so that the class sees the
    spread."""
    frame.page_link("pages/train.py", "← All ways to train", here="", run="", form="")
    frame.lead_text(
        "A model learns in this tab. Watch its heads find where to look; a click on a head "
        "switches it off."
    )
    classroom = live_classes.current_class()
    member = classroom.member(visitor.current_id()) if classroom else None
    data = {"link": state.view(Train).here, "seed": member.number if member else 0}
    views.training_component("trainer")(key=KEY, data=data, on_choice_change=_take_report)


def _take_report() -> None:
    """Keep the link of the run, or show the class its curve."""
    choice = st.session_state[KEY]["choice"]
    if "model" in choice:
        _open_model(choice)
    elif "link" in choice:
        state.change(here=str(choice["link"]))
    elif classroom := live_classes.current_class():
        with suppress(ClassroomError):
            classroom.report_tab_runs(visitor.current_id(), read_runs(choice.get("runs")))


def _open_model(choice: Mapping[str, Any]) -> None:
    """Store the model that the browser has trained as a finished run, and open its page."""
    try:
        config, lines = _run_of(choice)
        with TemporaryDirectory() as folder:
            file, checkpoint = Path(folder) / "model.safetensors", Path(folder) / "checkpoint"
            file.write_bytes(base64.b64decode(str(choice["model"]), validate=True))
            unpack_model_file(file, checkpoint)
            config = replace(config, model=load_checkpoint(checkpoint)[0].config)
            name = live_jobs.jobs().add_trained(
                config, visitor.ensure_id(), checkpoint, lines, address=visitor.address_hash()
            )
    except (JobError, ClassroomError, ValueError, KeyError, TypeError) as error:
        store_refusal("train", error if isinstance(error, JobError) else JobError(str(error)))
        return
    state.change(here="", form="", run=name)


def _run_of(choice: Mapping[str, Any]) -> tuple[TaskRun, list[dict[str, Any]]]:
    """Return the config of a run and its metrics. Raises ValueError or ClassroomError."""
    given = {str(name): value for name, value in dict(choice["settings"]).items()}
    config = make_run_config(
        str(given.pop("task")),
        settings={name: given[name] for name in SETTINGS if name in given},
        options=given.get("options") or None,
        title=str(choice["title"])[:80],
        inspect="",
    )
    assert isinstance(config, TaskRun), "it has a task"
    return config, TabRun.read(choice["points"]).lines()
