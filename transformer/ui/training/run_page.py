"""A run that is looked at: where it stands, its controls, its curves, what it writes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.text.tasks import TASKS
from transformer.training.run import RunError
from transformer.ui import frame, live_classes, live_jobs, state
from transformer.ui.kit import metrics_tail, quantities, run_facts
from transformer.ui.kit.callbacks import attempt, refusal
from transformer.ui.kit.fragment import fragment
from transformer.ui.training import curves, finished_run, waiting

EVERY = 1.0
"""Seconds between two looks at a run that learns."""
SOON = 0.4
"""Seconds between two looks until there is something to see."""


def run(name: str, owner: str) -> None:
    frame.link("pages/train.py", "← All runs, and ideas for a new one", run="", race="")
    try:
        info = live_jobs.look(name)
    except JobError as error:
        st.warning(frame.plain(frame.sentence(error)))
        return
    st.header(frame.plain(info.title))
    live = info.live
    if not live:
        _status(info, [])
        finished_run.kept(info, owner)
    others = finished_run.others(info)
    begun = bool(metrics_tail.metrics(live_jobs.jobs().folder(name)))
    soon = info.status != "paused" and not begun and info.place in (None, 1)
    every = (SOON if soon else EVERY) if live else None
    fragment(_watched, "watched", every)(name, owner, live, soon, others)


def _watched(name: str, owner: str, live: bool, soon: bool, others: dict[str, str]) -> None:
    """What changes while the run learns; starts the whole page anew when its first figures are
    there, and when its end has come."""
    try:
        info = live_jobs.look(name)
        folder = live_jobs.jobs().folder(name)
    except JobError:
        state.start_anew()
    if info.live != live or state.here().run != name:
        state.start_anew()
    lines = metrics_tail.metrics(folder)
    if soon and lines:
        state.start_anew()
    if live:
        _status(info, lines)
        _controls(info, owner)
    if info.layer:  # no heads of a translator to film
        _figures(info, lines)
        _made_with(folder)
        finished_run.together(info, lines, others)
        _examples(folder)
        return
    _look_for(info)
    left, right = st.columns([3, 2], gap="large")
    with left:
        curves.heads(folder, lines, live=live)
    with right:
        finished_run.together(info, lines, others, stacked=True)
    _figures(info, lines)
    _made_with(folder)
    _examples(folder)
    curves.moments(folder)


def _look_for(info: RunInfo) -> None:
    """What there is to be seen in the heads and the curves beside each other."""
    if info.task in TASKS:
        st.markdown(f"**Look for:** {TASKS[info.task].look_for}")
    st.caption(
        "Left, every small picture is a head: blurred before it has learned, a clear pattern once "
        "it knows where to look. Right, the loss falls; see at which step both change."
    )


def _status(info: RunInfo, lines: list[dict[str, Any]]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        run_facts.badge(info)
        st.caption(frame.plain(_told(info, lines)))
    if info.status == "queued":
        waiting.meanwhile(info)
    if info.live:
        st.progress(info.progress or 0.0)
    if info.status == "failed":
        st.error(frame.plain(frame.sentence(info.reason)))
    if info.status == "queued" and (startup_error := live_jobs.jobs().startup_error()):
        st.error(frame.plain(frame.sentence(startup_error)))


def _told(info: RunInfo, lines: list[dict[str, Any]]) -> str:
    if info.status == "queued":
        return waiting.told(info)
    if info.status == "running" and not lines:
        return "Getting ready: text, vocabulary and model are made."
    if info.status == "running":
        if info.asked:
            return f"Asked to {info.asked}; it ends its step and saves."
        left = info.seconds_left
        return f"Step {info.step:,}" + (
            f", about {quantities.duration(left)} left" if left is not None else ""
        )
    return frame.sentence(info.reason) if info.status != "failed" else f"At step {info.step:,}."


def _controls(info: RunInfo, owner: str) -> None:
    teaches = any(live_classes.teaches(one) for one in info.holders)
    if teaches:
        st.caption("A run of your class: you may pause it, go on with it and stop it.")
        owner = info.owner  # on whose behalf a teacher acts
    elif not info.held_by(owner):
        st.caption("Someone else's run: you may look at it; its owner controls it.")
        return
    elif (count := len(info.holders)) > 1:
        st.caption(f"{count} visitors asked for this run. It is computed once, for all of them.")
        with st.container(horizontal=True):
            finished_run.another_seed(info)
            finished_run.leaving(info, owner)
        refusal("control")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if info.status == "paused" or info.asked == "pause":
            _button("Resume", "play_arrow", info, owner, resume=True)
        else:
            _button("Pause", "pause", info, owner, command="pause")
        _button("Stop", "stop", info, owner, command="stop")
        if teaches and (info.place or 1) > 1:
            _button("First in line", "vertical_align_top", info, owner, first=True)
        if info.status == "running":
            _button("Save now", "save", info, owner, save=True)
            _factor(info, owner)
    refusal("control")


def _button(label: str, icon: str, info: RunInfo, owner: str, **wish: Any) -> None:
    st.button(
        label,
        key=f"{label}-{info.name}",
        icon=f":material/{icon}:",
        on_click=_wish,
        args=(info.name, owner),
        kwargs=wish,
    )


def _factor(info: RunInfo, owner: str) -> None:
    key = f"factor-{info.name}"
    now = live_jobs.jobs().folder(info.name).control().learning_rate_factor
    st.select_slider(
        "Learning rate ×",
        FACTORS,
        min(FACTORS, key=lambda factor: abs(factor - now)),
        key=key,
        width=260,
        on_change=_faster,
        args=(info.name, owner, key),
    )


def _faster(name: str, owner: str, key: str) -> None:
    """Another learning rate, unless the run is over: as in `setup`, the slider may speak once more
    when it is gone."""
    with suppress(JobError):
        if live_jobs.look(name).live:
            _wish(name, owner, learning_rate_factor=st.session_state[key])


FACTORS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


def _wish(name: str, owner: str, resume: bool = False, first: bool = False, **wish: Any) -> None:
    jobs = live_jobs.jobs()
    if resume:
        attempt("control", partial(jobs.resume, name, owner))
    elif first:
        attempt("control", partial(jobs.put_first, name, owner))
    else:
        for_all = live_classes.teaches(owner)
        attempt("control", partial(jobs.control, name, owner, for_all=for_all, **wish))


def _figures(info: RunInfo, lines: list[dict[str, Any]]) -> None:
    shown: list[tuple[str, str, str]] = []

    def add(label: str, value: Any, written: str, about: str = "") -> None:
        if value is not None:
            shown.append((label, written, about))

    def newest(name: str) -> Any:
        return metrics_tail.newest(lines, name)

    loss, valid = newest("loss"), newest("valid_loss")
    add("Loss", loss, f"{loss or 0:.3f}")
    add("Validation loss", valid, f"{valid or 0:.3f}", "of pairs it does not learn from")
    for label, name, about in (
        ("Tokens right", "token_accuracy", "given the right ones before"),
        ("Sequences right", "sequence_accuracy", "whole outputs, written freely"),
    ):
        value = newest(name)
        add(label, value, quantities.percent(value or 0.0), about)
    bleu, aer = newest("bleu"), newest("aer")
    add("BLEU", bleu, f"{bleu or 0:.1f}")
    add("Alignment error", aer, quantities.percent(aer or 0.0))
    if info.status == "running":
        rate, speed = newest("learning_rate"), metrics_tail.speed(lines)
        add("Learning rate", rate, f"{rate or 0:.2g}")
        add("Tokens a second", speed, f"{speed or 0:,.0f}", "source and target")
    if shown:
        with st.container(horizontal=True, key="figures"):
            for label, written, about in shown:
                st.metric(label, written, help=tip(label) or about or None, width="content")


def _made_with(folder: JobFolder) -> None:
    with suppress(RunError):
        training = getattr(folder.config(), "training", None)
        seed = training.seed if training else "?"
        if said := quantities.made_with(folder.state(), seed):
            st.caption(frame.plain(said))


def _examples(folder: JobFolder) -> None:
    st.header("What it writes")
    looks = folder.examples()
    if not looks:
        st.caption("A few held-out sentences, written anew as it learns, will stand here.")
        return
    look = looks[-1]
    rows = "".join(
        f"<tr><td>{escape(one['src'])}</td><td>{escape(one['tgt'])}</td>"
        f"<td>{escape(one['output'])}</td><td>{'right' if one['right'] else 'wrong'}</td></tr>"
        for one in look["examples"]
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Source", "Wanted", "Written", ""))
    st.html(
        f'<table class="hu-table"><caption>Held-out examples at step {look["step"]:,}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
