"""A run that trains in the browser: the same page as in the static site."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from transformer.checkpoint import load_checkpoint
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import MAX_POINTS, MAX_STEP, TabRun, read_runs
from transformer.exchange.model_file import unpack_model_file
from transformer.jobs import JobError
from transformer.text.door import (
    Refusal,
    accepts,
    either,
    flag,
    form,
    number,
    pair,
    read_fields,
    several,
    table,
    text,
    title,
    whole,
)
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TaskRun
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import HERE_FORM, Train
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.widgets import frame, views
from transformer.ui.widgets.callbacks import store_refusal

KEY = "trainer"
SETTINGS = (
    *("n_layers", "n_heads", "d_model", "d_ff", "positions", "score", "dropout", "steps", "seed"),
    *("learning_rate", "warmup", "cooldown", "label_smoothing", "clip_norm", "weight_decay"),
)
"""Settings of a run in the browser that a run of the app has too."""
MAX_MODEL = 100_000_000
"""Maximum characters of a model in base64."""
_SETTING = either(
    flag(), whole(-(2**53), 2**53), number(-1e300, 1e300), title(2000), table(whole(0, 10**6), 20)
)


@dataclass(frozen=True, kw_only=True)
class _Link:
    link: str = accepts(form(*HERE_FORM))


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A model that the browser has trained, as it sends it; `settings` are all of the browser's."""

    model: str = accepts(text(MAX_MODEL))
    settings: Mapping[str, Any] = accepts(table(_SETTING, 100))
    title: str = accepts(title(80))
    points: tuple[Any, ...] = accepts(several(pair(whole(0, MAX_STEP), number(0, 1)), MAX_POINTS))


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
    sent = st.session_state[KEY]["choice"]
    if not isinstance(sent, Mapping):
        return
    if "model" in sent:
        _open_model(sent)
    elif "link" in sent:
        with suppress(Refusal):
            state.change(here=read_fields(sent, _Link).link)
    elif classroom := live_classes.current_class():
        with suppress(ClassroomError):
            classroom.report_tab_runs(visitor.current_id(), read_runs(sent.get("runs")))


def _open_model(sent: Mapping[str, object]) -> None:
    """Store the model that the browser has trained as a finished run, and open its page."""
    try:
        trained = read_fields(sent, TrainedModel)
        config, lines = run_of(trained)
        with TemporaryDirectory() as folder:
            file, checkpoint = Path(folder) / "model.safetensors", Path(folder) / "checkpoint"
            file.write_bytes(base64.b64decode(trained.model, validate=True))
            unpack_model_file(file, checkpoint)
            config = replace(config, model=load_checkpoint(checkpoint)[0].config)
            name = live_jobs.jobs().add_trained(
                config, visitor.ensure_id(), checkpoint, lines, address=visitor.address_hash()
            )
    except ValueError as error:
        store_refusal("train", error if isinstance(error, JobError) else JobError(str(error)))
        return
    state.change(here="", form="", run=name)


def run_of(sent: TrainedModel) -> tuple[TaskRun, list[dict[str, Any]]]:
    """Return the config of a run and its metrics. Raises ValueError or ClassroomError."""
    given, options = sent.settings, sent.settings.get("options") or {}
    if not isinstance(options, Mapping):
        raise Refusal("The options of a run must be an object.")
    config = make_run_config(
        str(given.get("task", "")),
        settings={name: given[name] for name in SETTINGS if name in given},
        options=options,
        title=sent.title,
        inspect="",
    )
    assert isinstance(config, TaskRun), "it has a task"
    return config, TabRun(sent.points).checked().lines()
