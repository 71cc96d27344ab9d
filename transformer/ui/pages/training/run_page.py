"""The page of one run: its status and controls, its heads, its curves and what it writes."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs import JobError, RunInfo, runs_folder, services
from transformer.jobs.folder import JobFolder
from transformer.jobs.shares import seconds_until_turn
from transformer.run_config import TrainingRun
from transformer.text.tasks import TASKS
from transformer.training.estimate import Estimate
from transformer.training.run import RunError
from transformer.ui import state
from transformer.ui.pages.training import curves, finished_run, ideas, knobs
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, metrics_tail, quantities, run_facts
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import fragment

EVERY = 1.0
"""Seconds between two reruns while a run trains."""
SOON = 0.4
"""Seconds between two reruns until there is something to see."""
FEW_SEQUENCES = 20
"""Held-out pairs below which their measures come with a warning."""


def run(name: str, owner: str) -> None:
    """Draw the page of this run."""
    with st.container(horizontal=True, vertical_alignment="center", key="run-head"):
        frame.page_link("pages/train.py", "← All runs", run="", race="")
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
        _failed(info)
        finished_run.kept(info, owner)
    knobs.show(info, owner)
    others = finished_run.others(info)
    begun = bool(metrics_tail.metrics(live_jobs.jobs().folder(name)))
    soon = info.status != "paused" and not begun and info.queue_position in (None, 1)
    every = (SOON if soon else EVERY) if live else None
    fragment(_watched, "watched", every)(name, owner, live, soon, others)


def _watched(name: str, owner: str, live: bool, soon: bool, others: dict[str, str]) -> None:
    """Draw what changes while the run trains. Rerun the whole page when the first figures are
    there, and when the run has ended."""
    try:
        info = live_jobs.run_info(name)
        folder = live_jobs.jobs().folder(name)
    except JobError:
        state.rerun_page()
    if info.live != live or state.page_view().run != name:
        state.rerun_page()
    lines = metrics_tail.metrics(folder)
    if soon and lines:
        state.rerun_page()
    if live:
        with st.container(horizontal=True, vertical_alignment="center", key="run-status"):
            _status(info, lines)
            _controls(info, owner)
        show_refusal("control")
        st.progress(info.progress or 0.0)
        _waits(info)
    shown = finished_run.compared(info, lines, others)
    if info.layer:  # a tagger, which has no heads of a translator
        left, right = st.columns(2)
    else:
        _look_for(info)
        left, right = st.columns([13, 9], gap="medium")
        with left:
            _heads(info, folder, lines, live)
    with right:
        curves.curve(shown, info.name)
        _examples(folder)
    with left if info.layer else right:
        curves.curve(shown, info.name, 1)
    finished_run.compare(info, others)
    _figures(info, lines)
    _made_with(folder)
    if not info.layer:
        curves.moments(folder)


def _heads(info: RunInfo, folder: JobFolder, lines: list[dict[str, Any]], live: bool) -> None:
    """The film of the run's heads; while it waits in the queue, that of a finished run of the
    same task."""
    recorded = ideas.of_task(info.task) if info.status == "queued" else None
    if recorded is None or folder.snapshots():
        curves.heads(folder, lines, live=live)
        return
    st.caption(
        "While your run waits, this film shows how the heads of a finished run of the same task "
        "changed during training."
    )
    there = live_jobs.jobs().folder(recorded.name)
    curves.heads(there, metrics_tail.metrics(there), live=False, play=True)


def _look_for(info: RunInfo) -> None:
    if info.task in TASKS:
        about = (
            "Each small picture is one head: diffuse before training, a clear pattern once the "
            "head has learned where to look. Compare the step at which the pattern appears with "
            "the step at which the loss falls."
        )
        st.markdown(f"**Look for:** {TASKS[info.task].look_for}", help=about)


def _status(info: RunInfo, lines: list[dict[str, Any]]) -> None:
    """The badge of a run's status and a sentence about it."""
    run_facts.badge(info)
    st.caption(frame.plain(_sentence(info, lines)), width="content")


def _waits(info: RunInfo) -> None:
    """What to know while a run waits in the queue."""
    if info.status != "queued":
        return
    meanwhile(info)
    if startup_error := live_jobs.jobs().startup_error():
        st.error(frame.plain(frame.as_sentence(startup_error)))


def _failed(info: RunInfo) -> None:
    if info.status == "failed":
        st.error(frame.plain(frame.as_sentence(info.reason)))


def _sentence(info: RunInfo, lines: list[dict[str, Any]]) -> str:
    if info.status == "queued":
        before = f"{frame.as_sentence(info.reason)} " if info.step and info.reason else ""
        return f"{before}{queue_position(info)}"
    if info.status == "running" and not lines:
        return "Preparing the text, the vocabulary and the model."
    if info.status == "running":
        if info.pending_command:
            return f"Will {info.pending_command} after this step and save."
        left = info.seconds_left
        return f"Step {info.step:,}" + (
            f", about {quantities.duration(left)} left" if left is not None else ""
        )
    return frame.as_sentence(info.reason) if info.status != "failed" else f"At step {info.step:,}."


def _controls(info: RunInfo, owner: str) -> None:
    teaches = any(live_classes.teaches(one) for one in info.holders)
    if teaches:
        st.caption("A run of your class: you may pause, resume and stop it.", width="content")
        owner = info.owner  # on whose behalf a teacher acts
    elif not info.held_by(owner):
        st.caption("Someone else's run. Only its owner can control it.", width="content")
        return
    elif (count := len(info.holders)) > 1:
        st.caption(
            f"{count} visitors asked for this run. It is computed once, for all of them.",
            width="content",
        )
        finished_run.another_seed(info)
        finished_run.leaving(info, owner)
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
        _factor(info, owner)


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
    """Multiply the learning rate of a run while it trains."""
    key = f"factor-{info.name}"
    now = live_jobs.jobs().folder(info.name).control().learning_rate_factor
    with st.popover("Learning rate ×", icon=":material/speed:"):
        st.select_slider(
            "Learning rate × (without a restart)",
            FACTORS,
            min(FACTORS, key=lambda factor: abs(factor - now)),
            key=key,
            width=260,
            on_change=_faster,
            args=(info.name, owner, key),
        )


def _faster(name: str, owner: str, key: str) -> None:
    """Set another factor, unless the run has ended: the browser may report the slider once more
    after it has gone."""
    with suppress(JobError):
        if live_jobs.run_info(name).live:
            _wish(name, owner, learning_rate_factor=st.session_state[key])


FACTORS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


def _wish(name: str, owner: str, resume: bool = False, first: bool = False, **wish: Any) -> None:
    jobs = live_jobs.jobs()
    if resume:
        attempt("control", partial(jobs.resume, name, owner))
    elif first:
        attempt("control", partial(jobs.prioritize, name, owner))
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

    loss, valid, count = newest("loss"), newest("valid_loss"), newest("sequences")
    add("Loss", loss, f"{loss or 0:.3f}")
    add("Validation loss", valid, f"{valid or 0:.3f}", "on held-out pairs")
    of = f", of {count:,} held-out pairs" if count else ""
    for label, name, about in (
        ("Tokens right", "token_accuracy", "given the correct previous tokens"),
        ("Sequences right", "sequence_accuracy", f"whole outputs, decoded freely{of}"),
    ):
        value = newest(name)
        add(label, value, quantities.percent(value or 0.0), about)
    bleu, aer = newest("bleu"), newest("aer")
    if not (bleu == 0 and newest("sequence_accuracy") == 1):  # of references without four words
        add("BLEU", bleu, f"{bleu or 0:.1f}")
    add("Alignment error", aer, quantities.percent(aer or 0.0))
    if info.status == "running":
        rate, speed = newest("learning_rate"), metrics_tail.speed(lines)
        add("Learning rate", rate, f"{rate or 0:.2g}")
        add("Tokens per second", speed, f"{speed or 0:,.0f}", "source and target")
    if shown:
        with st.container(horizontal=True, key="figures"):
            for label, written, about in shown:
                st.metric(label, written, help=tip(label) or about or None, width="content")
    if count and count < FEW_SEQUENCES:
        pairs = "1 held-out pair" if count == 1 else f"{count} held-out pairs"
        st.caption(f"Measured on {pairs}: too few to judge the model by.")


def _made_with(folder: JobFolder) -> None:
    with suppress(RunError):
        training = getattr(folder.config(), "training", None)
        seed = training.seed if training else "?"
        if said := quantities.reproducibility_note(folder.state(), seed):
            st.caption(frame.plain(said))


def _examples(folder: JobFolder) -> None:
    """The model's outputs for a few held-out pairs, as of the newest evaluation."""
    looks = folder.examples()
    if not looks:
        st.caption("Outputs for a few held-out examples appear here during training.")
        return
    look = looks[-1]
    rows = "".join(
        f"<tr><td>{escape(one['src'])}</td><td>{escape(one['tgt'])}</td>"
        f"<td>{escape(one['output'])}</td><td>{'right' if one['right'] else 'wrong'}</td></tr>"
        for one in look["examples"]
    )
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("Source", "Reference", "Output", "")
    )
    st.html(
        f'<table class="hu-table hu-compact"><caption><b>What it writes</b>: held-out examples at '
        f"step {look['step']:,}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


LOOKED_FOR = 1.0
"""Seconds for which all sessions share one reading of all runs, as a class waits together."""


class Lookout:
    """All runs of this server, read once for everybody who waits, and what those in line take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until, self._infos = 0.0, tuple[RunInfo, ...]()
        self._takes: dict[str, float] = {}  # by a run's name, once it is known

    def infos(self) -> tuple[RunInfo, ...]:
        """As they stood a second ago at most. Raises JobError."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._infos = tuple(live_jobs.jobs().runs())
                waiting = {one.name for one in self._infos if one.queue_position is not None}
                known = {name: self._takes.get(name) or _takes(name) for name in waiting}
                self._takes = {name: seconds for name, seconds in known.items() if seconds}
                self._until = time.monotonic() + LOOKED_FOR
            return self._infos

    def until_turn(self, place: int) -> float | None:
        """Seconds until the run at this place begins; None where that is not known."""
        infos = self.infos()
        before = sorted(
            (one.queue_position, one.name)
            for one in infos
            if one.queue_position is not None and one.queue_position < place
        )
        left = [one.seconds_left for one in infos if one.status == "running"]
        takes = [self._takes.get(name) for _, name in before]
        return seconds_until_turn(left, takes, live_jobs.jobs().limits.processes)


def lookout() -> Lookout:
    """The one of this server's folder of runs."""
    return services.shared_service(_made, str(runs_folder()))


def _made(_: str) -> Lookout:
    return Lookout()


def queue_position(info: RunInfo) -> str:
    """A sentence or two about the run's position and when it will start."""
    seconds = lookout().until_turn(info.queue_position or 1)
    when = f"Starts in about {quantities.duration(seconds)}." if seconds else ""
    if info.queue_position == 1:
        return f"First in the queue. {when or 'It starts as soon as a worker is free.'}"
    return f"Number {info.queue_position} in the queue. {when} You can close this page.".replace(
        "  ", " "
    )


def meanwhile(info: RunInfo) -> None:
    """Link to a run that trains now: of the same task if there is one, else the furthest one."""
    running = [
        one
        for one in lookout().infos()
        if one.status == "running"
        and one.name != info.name
        and one.visible_to(visitor.current_id())
    ]
    if running:
        best = max(running, key=lambda one: (one.task == info.task, one.progress or 0.0))
        title = frame.plain(best.title)
        frame.page_link(
            "pages/train.py", f"Meanwhile, watch **{title}** train →", run=best.name, race=""
        )


def _takes(name: str) -> float | None:
    """Seconds of a whole run, as they are measured beside the server; None until they are."""
    with suppress(JobError, RunError, ValueError):
        config = live_jobs.jobs().folder(name).config()
        if isinstance(config, TrainingRun):
            found = live_jobs.time_estimate(config)
            return found.seconds if isinstance(found, Estimate) else None
    return None
