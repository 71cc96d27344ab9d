"""The page of one run: its status and controls, its heads, curves and outputs."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from transformer.api.training_facts import duration
from transformer.figures.glossary import tip
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.text.tasks import TASKS
from transformer.training.run_folder import RunError
from transformer.ui.base import state
from transformer.ui.pages.training import cards, curves, finished_run, run_list
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.widgets import frame, metrics_tail, quantities, tables
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import fragment

REFRESH_SECONDS = 1.0
"""Seconds between two reruns while a run trains."""
FIRST_REFRESH_SECONDS = 0.4
"""Seconds between two reruns until the first metrics are there."""
FEW_SEQUENCES = 20
"""Below this number of held-out pairs the page warns about their scores."""


def show(name: str, owner: str) -> None:
    """Draw the page of this run."""
    with st.container(horizontal=True, vertical_alignment="center", key="run-head"):
        frame.page_link("pages/train.py", "← All runs", run="", form="")
        try:
            info = live_jobs.run_info(name)
        except JobError as error:
            st.warning(frame.plain(frame.as_sentence(error)))
            return
        st.header(frame.plain(info.title), width="content")
        live = info.live
        if not live:
            _status(info, [])
    if not live:
        _failure_reason(info)
    other_runs = finished_run.other_runs(info)
    has_metrics = bool(metrics_tail.metrics(live_jobs.jobs().folder(name)))
    starts_soon = info.status != "paused" and not has_metrics and info.queue_position in (None, 1)
    refresh_seconds = (FIRST_REFRESH_SECONDS if starts_soon else REFRESH_SECONDS) if live else None
    fragment(_live_part, "live-part", refresh_seconds)(name, owner, live, starts_soon, other_runs)


def _live_part(
    name: str, owner: str, live: bool, starts_soon: bool, other_runs: dict[str, str]
) -> None:
    """Draw what changes during training. Rerun the whole page when the first metrics are there and
    when the run has ended."""
    try:
        info = live_jobs.run_info(name)
        folder = live_jobs.jobs().folder(name)
    except JobError:
        state.rerun_page()
    if info.live != live or state.page_view().run != name:
        state.rerun_page()
    lines = metrics_tail.metrics(folder)
    if starts_soon and lines:
        state.rerun_page()
    if live:
        with st.container(horizontal=True, vertical_alignment="center", key="run-status"):
            _status(info, lines)
            _controls(info, owner)
        show_refusal("control")
        st.progress(info.progress or 0.0)
        if startup_error := live_jobs.jobs().startup_error():
            st.error(frame.plain(frame.as_sentence(startup_error)))
    metrics = finished_run.metrics_to_compare(info, lines, other_runs)
    left_column, right_column = st.columns([13, 9], gap="medium")
    with left_column:
        _heads(info, folder, lines, live)
    with right_column:
        _expected_pattern(info)
        if not live:
            finished_run.actions(info, owner)
        curves.curve(metrics, info.name)
        _examples(folder, live=live)
        curves.curve(metrics, info.name, 1)
    finished_run.compare_control(info, other_runs)
    _figures(info, lines)
    _provenance(folder)
    curves.moments(folder, live=live)


def _heads(info: RunInfo, folder: JobFolder, lines: list[dict[str, Any]], live: bool) -> None:
    """Draw the film of the run's heads, or while it is queued that of a finished run of the same
    task."""
    recorded = cards.shipped_run_of(info.task) if info.status == "queued" else None
    if recorded is None or folder.snapshots():
        curves.heads(folder, lines, live=live)
        return
    st.caption(
        "While your run waits, this film shows how the heads of a finished run of the same task "
        "changed during training."
    )
    recorded_folder = live_jobs.jobs().folder(recorded.name)
    curves.heads(recorded_folder, metrics_tail.metrics(recorded_folder), live=False, autoplay=True)


def _expected_pattern(info: RunInfo) -> None:
    if info.task in TASKS:
        description = (
            "Each small picture is one head: diffuse before training, a clear pattern once the "
            "head has learned where to look. Compare the step at which the pattern appears with "
            "the step at which the loss falls."
        )
        st.markdown(f"**Look for:** {TASKS[info.task].look_for}", help=description)


def _status(info: RunInfo, lines: list[dict[str, Any]]) -> None:
    """Draw the badge of the run's status and a sentence about it."""
    run_list.badge(info)
    st.caption(frame.plain(_status_sentence(info, lines)), width="content")


def _failure_reason(info: RunInfo) -> None:
    if info.status == "failed":
        st.error(frame.plain(frame.as_sentence(info.reason)))


def _status_sentence(info: RunInfo, lines: list[dict[str, Any]]) -> str:
    if info.status == "queued":
        reason = f"{frame.as_sentence(info.reason)} " if info.step and info.reason else ""
        if info.queue_position == 1:
            return f"{reason}First in the queue. It starts as soon as a worker is free."
        return f"{reason}Number {info.queue_position} in the queue. You can close this page."
    if info.status == "running" and not lines:
        return "Preparing the text, the vocabulary and the model."
    if info.status == "running":
        if info.pending_command:
            return f"Will {info.pending_command} after this step and save."
        seconds = info.seconds_left
        return f"Step {info.step:,}" + (
            f", about {duration(seconds)} left" if seconds is not None else ""
        )
    return frame.as_sentence(info.reason) if info.status != "failed" else f"At step {info.step:,}."


def _controls(info: RunInfo, owner: str) -> None:
    teaches = any(live_classes.teaches(holder) for holder in info.holders)
    if teaches:
        st.caption("A run of your class: you may pause, resume and stop it.", width="content")
        owner = info.owner  # the teacher acts for the owner
    elif not info.held_by(owner):
        st.caption("Someone else's run. Only its owner can control it.", width="content")
        return
    elif (count := len(info.holders)) > 1:
        st.caption(
            f"{count} visitors asked for this run. It is computed once, for all of them.",
            width="content",
        )
        finished_run.another_seed(info)
        finished_run.remove_controls(info, owner)
        return
    if info.status == "paused" or info.pending_command == "pause":
        _button("Resume", "play_arrow", info, owner, resume=True)
    else:
        _button("Pause", "pause", info, owner, command="pause")
    _button("Stop", "stop", info, owner, command="stop")
    if teaches and (info.queue_position or 1) > 1:
        _button("Move to front", "vertical_align_top", info, owner, first=True)
    if info.status == "running":
        _button("Save now", "save", info, owner, save=True)
        _learning_rate_factor(info, owner)


def _button(label: str, icon: str, info: RunInfo, owner: str, **command: Any) -> None:
    st.button(
        label,
        key=f"{label}-{info.name}",
        icon=f":material/{icon}:",
        on_click=_send_command,
        args=(info.name, owner),
        kwargs=command,
    )


def _learning_rate_factor(info: RunInfo, owner: str) -> None:
    """Draw the factor by which the learning rate is multiplied during training."""
    key = f"factor-{info.name}"
    current = live_jobs.jobs().folder(info.name).control().learning_rate_factor
    with st.popover("Learning rate ×", icon=":material/speed:"):
        st.select_slider(
            "Learning rate × (without a restart)",
            LEARNING_RATE_FACTORS,
            min(LEARNING_RATE_FACTORS, key=lambda factor: abs(factor - current)),
            key=key,
            width=260,
            on_change=_set_learning_rate_factor,
            args=(info.name, owner, key),
        )


def _set_learning_rate_factor(name: str, owner: str, key: str) -> None:
    """Set another factor, unless the run has ended: the browser may report the removed slider once
    more."""
    with suppress(JobError):
        if live_jobs.run_info(name).live:
            _send_command(name, owner, learning_rate_factor=st.session_state[key])


LEARNING_RATE_FACTORS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


def _send_command(
    name: str, owner: str, resume: bool = False, first: bool = False, **command: Any
) -> None:
    if not live_classes.may_control(owner):  # the class has ended in another tab
        return
    jobs = live_jobs.jobs()
    if resume:
        attempt("control", partial(jobs.resume, name, owner))
    elif first:
        attempt("control", partial(jobs.prioritize, name, owner))
    else:
        for_all = live_classes.teaches(owner)
        attempt("control", partial(jobs.control, name, owner, for_all=for_all, **command))


def _figures(info: RunInfo, lines: list[dict[str, Any]]) -> None:
    metrics: list[tuple[str, str, str]] = []

    def add(label: str, value: Any, formatted: str, description: str = "") -> None:
        if value is not None:
            metrics.append((label, formatted, description))

    def newest(name: str) -> Any:
        return metrics_tail.newest(lines, name)

    loss, valid, count = newest("loss"), newest("valid_loss"), newest("sequences")
    add("Loss", loss, f"{loss or 0:.3f}")
    add("Validation loss", valid, f"{valid or 0:.3f}", "on held-out pairs")
    pairs_note = f", of {count:,} held-out pairs" if count else ""
    for label, name, description in (
        ("Token accuracy", "token_accuracy", "given the correct previous tokens"),
        (
            "Sequence accuracy",
            "sequence_accuracy",
            f"whole outputs, without teacher forcing{pairs_note}",
        ),
    ):
        value = newest(name)
        add(label, value, quantities.percent(value or 0.0), description)
    bleu, aer = newest("bleu"), newest("aer")
    if not (bleu == 0 and newest("sequence_accuracy") == 1):  # references under four words
        add("BLEU", bleu, f"{bleu or 0:.1f}")
    add("Alignment error rate", aer, quantities.percent(aer or 0.0))
    if info.status == "running":
        rate, speed = newest("learning_rate"), metrics_tail.speed(lines)
        add("Learning rate", rate, f"{rate or 0:.2g}")
        add("Tokens per second", speed, f"{speed or 0:,.0f}", "source and target")
    if metrics:
        with st.container(horizontal=True, key="figures"):
            for label, formatted, description in metrics:
                st.metric(label, formatted, help=tip(label) or description or None, width="content")
    if count and count < FEW_SEQUENCES:
        pairs = "1 held-out pair" if count == 1 else f"{count} held-out pairs"
        st.caption(f"Measured on {pairs}: too few for reliable scores.")


def _provenance(folder: JobFolder) -> None:
    with suppress(RunError):
        training = getattr(folder.config(), "training", None)
        seed = training.seed if training else "?"
        if provenance := quantities.reproducibility_note(folder.state(), seed):
            st.caption(frame.plain(provenance))


def _examples(folder: JobFolder, *, live: bool) -> None:
    """Draw the model's outputs for a few held-out pairs at the latest evaluation."""
    evaluations = folder.examples()
    if not evaluations:
        st.caption(
            "Outputs for a few held-out examples appear here during training."
            if live
            else "This run stored no outputs for held-out examples."
        )
        return
    latest = evaluations[-1]
    n_right = sum(bool(example["right"]) for example in latest["examples"])
    score = quantities.right_answers(n_right, len(latest["examples"]))
    with st.container(key="run-outputs"):
        tables.show(
            f"Outputs for held-out examples at step {latest['step']:,}. {score}",
            ["Source", "Reference", "Output", ""],
            [
                [*(example[part] for part in ("src", "tgt", "output")),
                 "correct" if example["right"] else "wrong"]
                for example in latest["examples"]
            ],
            words=True,
        )  # fmt: skip
