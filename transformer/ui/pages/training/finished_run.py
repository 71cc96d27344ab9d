"""The actions for a run that has ended."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.run_config import TaskRun
from transformer.text.tasks import TASKS
from transformer.training.run import RunError
from transformer.ui import state
from transformer.ui.about import about
from transformer.ui.pages.training import draft
from transformer.ui.services import live_jobs, models
from transformer.ui.widgets import frame, metrics_tail
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.tables import download

MOST = 6
"""Other runs whose curves may be drawn beside this one's."""


def kept(info: RunInfo, owner: str) -> None:
    mine = info.held_by(owner)
    with st.container(horizontal=True, vertical_alignment="center"):
        _onward(info)
        if mine and info.status in ("failed", "cancelled"):
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
            _again(info)
        elif not mine:
            st.caption("Someone else's run. Only its owner can control it.")
        if mine and info.kind == "pairs":
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
        if mine:
            leaving(info, owner)
    show_refusal("control")


def leaving(info: RunInfo, owner: str) -> None:
    """Be rid of one's own run; where others have it too, of one's part in it."""
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
    """The same again with other random numbers: what is asked for again as it is, is this run."""
    if info.shipped or info.race or info.task not in TASKS:
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
        found = live_jobs.jobs().folder(name).config()
    except (JobError, RunError):  # gone meanwhile
        return
    if isinstance(found, TaskRun):
        seed = found.training.seed + 1
        title = f"{re.sub(', seed [0-9]+', '', found.title)}, seed {seed}"
        training = replace(found.training, seed=seed)
        draft.submit(replace(found, training=training, title=title), {}, instead=name)


def _again(info: RunInfo) -> None:
    """A run that came with the app: nobody controls it, and everybody can train another."""
    if info.task in TASKS:
        frame.callback_button(
            "Train a similar one", "model_training", _begin, info.task, key="train-again"
        )
    st.caption("Included with the app.")


def _begin(task: str) -> None:
    draft.begin(task)
    state.change(run="", race="")


def _onward(info: RunInfo) -> None:
    """Links to the other pages with this run's model and a sentence that it knows."""
    if info.layer:
        st.caption(
            "This model labels positions and does not translate, so other pages cannot use it."
        )
        return
    folders = models.checkpoints()
    name = _model_of(info)
    if name not in folders:
        if info.shipped:
            st.caption("Its checkpoint is not installed here.")
        elif info.status != "failed":
            st.caption("It ended before its first save, so there is no model.")
        return
    examples = about(folders[name]).examples
    given: dict[str, Any] = {"model": name, "text": examples[0] if examples else ""}
    given |= {"method": "greedy", "target": "", "other": "", "other_model": ""}
    look: dict[str, Any] = {
        "layer": -1,
        "head": -1,
        "heads": "",
        "tokens": "",
        "force": "",
        "row": -1,
        "column": -1,
    }
    frame.page_button("pages/translate.py", "Translate with it", "translate", **given)
    frame.page_button("pages/attention.py", "Explore its heads", "visibility", **given, **look)


def _model_of(info: RunInfo) -> str:
    """The model that came of it, by the name that it has on other pages."""
    path = live_jobs.jobs().folder(info.name).checkpoint_path
    return info.name if path.name == "checkpoint" else path.name


def others(info: RunInfo) -> dict[str, str]:
    """The other runs there are, name to label."""
    every = (*live_jobs.runs(), *live_jobs.jobs().shipped())
    return {one.name: f"{one.title} ({one.name})" for one in every if one.name != info.name}


def compared(
    info: RunInfo, lines: list[dict[str, Any]], others: dict[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """The metrics of this run and of those chosen in `compare`, by label."""
    shown = {f"{info.title} ({info.name})": lines}
    for name in st.session_state.get(f"beside-{info.name}", []):
        try:
            shown[others[name]] = metrics_tail.metrics(live_jobs.jobs().folder(name))
        except (JobError, KeyError):  # deleted meanwhile
            continue
    return shown


def compare(info: RunInfo, others: dict[str, str]) -> None:
    """Let the visitor choose other runs for the charts."""
    if others:
        st.multiselect(
            "Compare with other runs",
            list(others),
            format_func=lambda name: others.get(name, name),
            max_selections=MOST,
            placeholder="Choose runs",
            key=f"beside-{info.name}",
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
        about="Checkpoint, settings and metrics. The command line can load the checkpoint.",
    )


def _share(name: str, owner: str, key: str) -> None:
    shared = bool(st.session_state[key])
    attempt("control", lambda: live_jobs.jobs().share(name, owner, shared))


def _resume(name: str, owner: str) -> None:
    attempt("control", lambda: live_jobs.jobs().resume(name, owner))


def _delete(name: str, owner: str) -> None:
    if state.page_view().run != name:
        return  # pressed twice
    mine = name in {info.name for info in live_jobs.jobs().runs(owner)}
    if mine and not attempt("control", lambda: live_jobs.jobs().delete(name, owner)):
        return
    view = state.view()
    gone = {"model": "", "text": type(view)().text} if view.model == name else {}
    if view.other_model == name:
        gone["other_model"] = ""
    state.change(run="", **gone)
