"""The actions for a run that has ended."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from transformer.api.model_description import describe_model
from transformer.jobs import JobError, RunInfo
from transformer.text.tasks import TASKS
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunError
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.services import live_jobs, models
from transformer.ui.widgets import frame, metrics_tail
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.tables import download

MAX_COMPARED = 6
"""Maximum number of other runs in a chart."""


def actions(info: RunInfo, owner: str) -> None:
    is_owner = info.held_by(owner)
    with st.container(horizontal=True, vertical_alignment="center"):
        _model_links(info)
        if is_owner and info.status in ("failed", "cancelled"):
            st.button(
                "Resume",
                type="primary",
                icon=":material/play_arrow:",
                help="Continues from the last save.",
                on_click=_resume,
                args=(info.name, owner),
            )
        _download(info)
        if info.shipped:
            if info.task in TASKS:
                frame.page_link("pages/train.py", "Train a similar one →", run="", form=info.task)
            st.caption("Included with the app.")
        elif not is_owner:
            st.caption("Someone else's run. Only its owner can control it.")
        if is_owner and info.kind == "pairs":
            key = f"shared-{info.name}"
            st.session_state.setdefault(key, info.shared)
            st.toggle(
                "Shared",
                key=key,
                help="Lets others see this run, its name, its sentences and its model. Otherwise "
                "only you, in this browser, and the operator of this server can.",
                on_change=_share,
                args=(info.name, owner, key),
            )
        another_seed(info)
        if is_owner:
            remove_controls(info, owner)
    show_refusal("control")


def remove_controls(info: RunInfo, owner: str) -> None:
    """Draw the button that deletes a run, or if others share it, removes it from one's runs."""
    if len(info.holders) > 1:
        st.button(
            "Remove from my runs",
            icon=":material/close:",
            help=f"{len(info.holders)} visitors asked for this run, and it was computed once. The "
            "others keep it.",
            on_click=_delete,
            args=(info.name, owner),
        )
        return
    with st.popover("Delete …", icon=":material/delete:"):
        st.write("This deletes its curves, its film and its model permanently.")
        st.button("Delete it", type="primary", on_click=_delete, args=(info.name, owner))


def another_seed(info: RunInfo) -> None:
    """Draw the button that repeats a run with another seed; the same seed would return this run."""
    if info.shipped or info.task not in TASKS:
        return
    st.button(
        "Train with another seed",
        icon=":material/casino:",
        help="Same task and settings with other random numbers, to see how much depends on chance.",
        on_click=_another_seed,
        args=(info.name,),
    )


def _another_seed(name: str) -> None:
    try:
        config = live_jobs.jobs().folder(name).config()
    except (JobError, RunError):  # deleted meanwhile
        return
    if isinstance(config, TaskRun):
        seed = config.training.seed + 1
        title = f"{re.sub(', seed [0-9]+', '', config.title)}, seed {seed}"
        training = replace(config.training, seed=seed)
        new_config = replace(config, training=training, title=title)
        attempt("train", lambda: live_jobs.start_run(new_config, open_run=name))


def _model_links(info: RunInfo) -> None:
    """Draw links to other pages with this run's model and one of its example sentences."""
    folders = models.checkpoints()
    name = _model_name(info)
    if name not in folders:
        if info.shipped:
            st.caption("Its checkpoint is not installed here.")
        elif info.status != "failed":
            st.caption("It ended before its first save, so there is no model.")
        return
    examples = describe_model(folders[name]).examples
    model_fields: dict[str, Any] = {"model": name, "text": examples[0] if examples else ""}
    model_fields |= {"method": "greedy", "target": "", "other": "", "other_model": ""}
    cleared_fields: dict[str, Any] = {
        "layer": -1,
        "head": -1,
        "heads": "",
        "tokens": "",
        "force": "",
        "row": -1,
        "column": -1,
    }
    frame.page_button(
        HOME, "Translate with it", "translate", key="try", depth="bands", **model_fields
    )
    frame.page_button(
        HOME, "Explore its heads", "visibility", depth="heads", **model_fields, **cleared_fields
    )


def _model_name(info: RunInfo) -> str:
    """Return the name that the run's model has on other pages."""
    path = live_jobs.jobs().folder(info.name).checkpoint_path
    return info.name if path.name == "checkpoint" else path.name


def other_runs(info: RunInfo) -> dict[str, str]:
    """Return the labels of all other runs by name."""
    all_runs = (*live_jobs.runs(), *live_jobs.jobs().shipped())
    return {run.name: f"{run.title} ({run.name})" for run in all_runs if run.name != info.name}


def metrics_to_compare(
    info: RunInfo, lines: list[dict[str, Any]], labels: dict[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """Return the metrics of this run and of those selected in `compare_control`, by label."""
    metrics = {f"{info.title} ({info.name})": lines}
    for name in st.session_state.get(f"compared-{info.name}", []):
        try:
            metrics[labels[name]] = metrics_tail.metrics(live_jobs.jobs().folder(name))
        except (JobError, KeyError):  # deleted meanwhile
            continue
    return metrics


def compare_control(info: RunInfo, labels: dict[str, str]) -> None:
    """Let the visitor choose other runs for the charts."""
    if labels:
        st.multiselect(
            "Compare with other runs",
            list(labels),
            format_func=lambda name: labels.get(name, name),
            max_selections=MAX_COMPARED,
            placeholder="Choose runs",
            key=f"compared-{info.name}",
        )


def _download(info: RunInfo) -> None:
    folder = live_jobs.jobs().folder(info.name)
    if not (folder.checkpoint_path / "config.json").is_file():
        return
    jobs = live_jobs.jobs()
    download(
        "Download (.zip)",
        lambda: jobs.archive(info.name),
        f"{info.name}.zip",
        help="Checkpoint, settings and metrics. The command line can load the checkpoint.",
    )


def _share(name: str, owner: str, key: str) -> None:
    shared = bool(st.session_state[key])
    attempt("control", lambda: live_jobs.jobs().share(name, owner, shared))


def _resume(name: str, owner: str) -> None:
    attempt("control", lambda: live_jobs.jobs().resume(name, owner))


def _delete(name: str, owner: str) -> None:
    if state.page_view().run != name:
        return  # a double click
    is_holder = name in {info.name for info in live_jobs.jobs().runs(owner)}
    if is_holder and not attempt("control", lambda: live_jobs.jobs().delete(name, owner)):
        return
    view = state.view()
    cleared_fields = {"model": "", "text": type(view)().text} if view.model == name else {}
    if view.other_model == name:
        cleared_fields["other_model"] = ""
    state.change(run="", **cleared_fields)
