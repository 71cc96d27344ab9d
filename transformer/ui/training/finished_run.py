"""A run that has ended: what can be done with it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo
from transformer.run_config import TaskRun
from transformer.text.tasks import TASKS
from transformer.training.run import RunError
from transformer.ui import frame, live_jobs, models, state
from transformer.ui.about import about
from transformer.ui.kit import metrics_tail
from transformer.ui.kit.callbacks import attempt, refusal
from transformer.ui.kit.tables import download
from transformer.ui.training import draft
from transformer.ui.training.curves import charts

MOST = 6
"""Runs whose curves are laid over one another."""


def kept(info: RunInfo, owner: str) -> None:
    mine = info.held_by(owner)
    with st.container(horizontal=True, vertical_alignment="center"):
        _onward(info)
        if mine and info.status in ("failed", "cancelled"):
            st.button(
                "Resume",
                type="primary",
                icon=":material/play_arrow:",
                help="Goes on from its last save.",
                on_click=_resume,
                args=(info.name, owner),
            )
        _download(info)
        if info.shipped:
            _again(info)
        elif not mine:
            st.caption("Someone else's run: you may look at it; its owner controls it.")
        if mine and info.kind == "pairs":
            key = f"shared-{info.name}"
            st.session_state.setdefault(key, info.shared)
            st.toggle(
                "Shared",
                key=key,
                help="Others see this run, its name, its sentences and its model. If not, nobody "
                "does but you, in this browser, and whoever runs this server.",
                on_change=_share,
                args=(info.name, owner, key),
            )
        another_seed(info)
        if mine:
            leaving(info, owner)
    refusal("control")


def leaving(info: RunInfo, owner: str) -> None:
    """Be rid of one's own run; where others have it too, of one's part in it."""
    if len(info.holders) > 1:
        st.button(
            "Remove from my runs",
            icon=":material/close:",
            help=f"{len(info.holders)} visitors asked for this run, and it was computed once; it "
            "stays with the others.",
            on_click=_delete,
            args=(info.name, owner),
        )
        return
    with st.popover("Delete …", icon=":material/delete:"):
        st.write("Its curves, its film and its model will be gone for good.")
        st.button("Delete it", type="primary", on_click=_delete, args=(info.name, owner))


def another_seed(info: RunInfo) -> None:
    """The same again with other random numbers: what is asked for again as it is, is this run."""
    if info.shipped or info.race or info.task not in TASKS:
        return
    st.button(
        "Train with another seed",
        icon=":material/casino:",
        help="The same task and settings from other random numbers, so that you see what is chance "
        "and what is not.",
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
        title = f"{re.sub(', seed [0-9]+$', '', found.title)}, seed {seed}"
        training = replace(found.training, seed=seed)
        draft.submit(replace(found, training=training, title=title), {}, instead=name)


def _again(info: RunInfo) -> None:
    """A run that came with the app: nobody controls it, and everybody can train another."""
    if info.task in TASKS:
        frame.press("Train one like it", "model_training", _begin, info.task, key="train-again")
    st.caption("It came with the app: it is there to be looked at, and stays as it is.")


def _begin(task: str) -> None:
    draft.begin(task)
    state.change(run="", race="")


def _onward(info: RunInfo) -> None:
    """Links to the other pages with this run's model and a sentence that it knows."""
    if info.layer:
        st.caption("It labels places and translates nothing, so the other pages cannot show it.")
        return
    folders = models.checkpoints()
    name = _model_of(info)
    if name not in folders:
        if info.shipped:
            st.caption("The checkpoint that came of it is not among those here.")
        elif info.status != "failed":
            st.caption("It ended before its first save, so it left no model.")
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
    frame.go("pages/translate.py", "Translate with it", "translate", **given)
    frame.go("pages/attention.py", "Look into its heads", "visibility", **given, **look)


def _model_of(info: RunInfo) -> str:
    """The model that came of it, by the name that it has on other pages."""
    path = live_jobs.jobs().folder(info.name).checkpoint_path
    return info.name if path.name == "checkpoint" else path.name


def others(info: RunInfo) -> dict[str, str]:
    """The other runs there are, name to label."""
    every = (*live_jobs.runs(), *live_jobs.jobs().shipped())
    return {one.name: f"{one.title} ({one.name})" for one in every if one.name != info.name}


def together(
    info: RunInfo, lines: list[dict[str, Any]], others: dict[str, str], *, stacked: bool = False
) -> None:
    """The curves of this run and of those that are chosen; `stacked` as `curves.charts` has it."""
    key = f"beside-{info.name}"
    shown = {f"{info.title} ({info.name})": lines}
    for name in st.session_state.get(key, []):
        try:
            shown[others[name]] = metrics_tail.metrics(live_jobs.jobs().folder(name))
        except (JobError, KeyError):  # deleted meanwhile
            continue
    charts(shown, info.name, stacked=stacked)
    if others:
        st.multiselect(
            "Lay its curves over those of other runs",
            list(others),
            format_func=lambda name: others.get(name, name),
            max_selections=MOST,
            placeholder="Runs to compare with",
            key=key,
        )


def _download(info: RunInfo) -> None:
    folder = live_jobs.jobs().folder(info.name)
    if not (folder.checkpoint_path / "config.json").is_file():
        return
    jobs = live_jobs.jobs()
    download(
        "Download as a folder (.zip)",
        lambda: jobs.archive(info.name),
        f"{info.name}.zip",
        about="Checkpoint, settings and curves; every command of this app reads the checkpoint.",
    )


def _share(name: str, owner: str, key: str) -> None:
    shared = bool(st.session_state[key])
    attempt("control", lambda: live_jobs.jobs().share(name, owner, shared))


def _resume(name: str, owner: str) -> None:
    attempt("control", lambda: live_jobs.jobs().resume(name, owner))


def _delete(name: str, owner: str) -> None:
    if state.here().run != name:
        return  # pressed twice
    mine = name in {info.name for info in live_jobs.jobs().runs(owner)}
    if mine and not attempt("control", lambda: live_jobs.jobs().delete(name, owner)):
        return
    view = state.view()
    gone = {"model": "", "text": type(view)().text} if view.model == name else {}
    if view.other_model == name:
        gone["other_model"] = ""
    state.change(run="", **gone)
