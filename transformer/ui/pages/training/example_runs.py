"""The start of the Train page: cards, the visitor's own runs, and below them everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from transformer.jobs import RunInfo, count_parameters
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TrainingRun
from transformer.ui.base import state
from transformer.ui.pages.training import draft, head_pictures, here, race_cards, run_facts
from transformer.ui.pages.training.draft import probes
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, quantities
from transformer.ui.widgets.callbacks import attempt
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

MAX_OTHER_RUNS = 30
"""Maximum length of the list of other visitors' runs."""
SHIPPED_PREFIX = "toy-"
"""First part of a shipped run's name; the task's name follows."""
OWN_PAIRS_EXAMPLE = "training-en-de"
"""The shipped run that shows what a model learns from sentence pairs."""


@dataclass(frozen=True)
class ExampleRun:
    """A run of a built-in task that one click trains.

    Attributes:
        own_title: its title, if not that of the task.
    """

    task: str
    text: str
    own_title: str = ""

    @property
    def title(self) -> str:
        return self.own_title or TASKS[self.task].title


EXAMPLE_RUNS = (
    ExampleRun(
        "reverse",
        "Heads learn within seconds to read the source from its end to its beginning.",
    ),
    ExampleRun(
        "french",
        "“The black cat” is “le chat noir”: attention leaves the diagonal at the adjective.",
        "Where French puts adjectives",
    ),
    ExampleRun(
        "sort",
        "Positions do not help here: each step must find the next letter of the alphabet, wherever "
        "it is in the source.",
    ),
    ExampleRun(
        "addition",
        "Digit by digit with a carry: cross-attention learns to read two digits at once. The "
        "hardest of these tasks and the slowest to train.",
    ),
    ExampleRun(
        "brackets",
        "Each step closes the bracket that was opened last: the model must count how many are "
        "still open.",
    ),
    ExampleRun(
        "induction",
        "The model sees random letters and one of them again, and continues from there. One head "
        "learns to find that letter, another to attend to the one after it: an induction head.",
    ),
    ExampleRun(
        "modular",
        "The model first memorises its training pairs and finds the rule much later: training and "
        "validation curves part, then meet.",
    ),
)
N_CARDS = 2
"""Number of example runs, from the first, that have a card; the others are below the cards."""
CostSlots = list[tuple[Any, TrainingRun]]
"""Containers for the cost of a run, with that run."""


def cards() -> CostSlots:
    """Draw two example runs and the visitor's own sentences as cards. Return the containers for
    the costs, for `fill_costs`."""
    cost_slots: CostSlots = []
    with st.container(horizontal=True, key="example-cards"):
        for example_run in EXAMPLE_RUNS[:N_CARDS]:
            with st.container(border=True, key=f"example-{example_run.task}"):
                shipped_run = shipped_run_of(example_run.task)
                _card_top(example_run.title, example_run.text, shipped_run)
                cost_slots.append((st.container(), run_config(example_run)))
                with st.container(horizontal=True, vertical_alignment="center"):
                    here.link("Train in this tab →", example_run.task)
                    _train_button(example_run)
                    _link(example_run.task, shipped_run)
        with st.container(border=True, key="example-own"):
            shipped_run = _shipped(OWN_PAIRS_EXAMPLE)
            _card_top(
                "Your own sentences",
                "Paste or upload sentence pairs: heads learn which words belong together.",
                shipped_run,
            )
            st.caption("At least 20 pairs, in any two languages")
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    "Add your own sentence pairs",
                    key="change-own",
                    type="primary",
                    on_click=draft.open_form,
                    args=("",),
                )
                here.link("Train on them in this tab →", "pairs")
                _link("English–German", shipped_run)
    return cost_slots


def _card_top(title: str, text: str, shipped_run: RunInfo | None) -> None:
    """Draw the picture of a head of the shipped run, the title of the card and its sentence."""
    st.html(_picture(shipped_run) if shipped_run else '<div class="hu-head"></div>')
    st.markdown(f"**{title}**")
    st.markdown(text)


def _picture(shipped_run: RunInfo) -> str:
    return head_pictures.last_picture(live_jobs.jobs().folder(shipped_run.name).path)


def _train_button(example_run: ExampleRun, *, primary: bool = True) -> None:
    frame.callback_button(
        f"Train: {example_run.task}",
        "play_arrow",
        _start,
        example_run,
        key=f"train-{example_run.task}",
        type="primary" if primary else "secondary",
    )


def _link(name: str, shipped_run: RunInfo | None) -> None:
    if shipped_run:
        frame.page_link(
            "pages/train.py", f"Open a trained model: {name} →", run=shipped_run.name, race=""
        )


def more_tasks() -> CostSlots:
    """Draw the other example runs, the settings of all of them. Return the
    containers for the costs, for `fill_costs`."""
    cost_slots: CostSlots = []
    columns = st.columns(2)
    for number, example_run in enumerate(EXAMPLE_RUNS[N_CARDS:]):
        with columns[number % 2], st.container(border=True, key=f"example-{example_run.task}"):
            st.markdown(f"**{example_run.title}**")
            st.markdown(example_run.text)
            cost_slots.append((st.container(), run_config(example_run)))
            with st.container(horizontal=True, vertical_alignment="center"):
                _train_button(example_run, primary=False)
                _settings_button(example_run)
                _link(example_run.task, shipped_run_of(example_run.task))
    with columns[1], st.container(border=True, key="example-settings"):
        st.markdown("**The two tasks above, with other settings**")
        with st.container(horizontal=True):
            for example_run in EXAMPLE_RUNS[:N_CARDS]:
                _settings_button(example_run)
    return cost_slots


def _settings_button(example_run: ExampleRun) -> None:
    st.button(
        f"Change settings: {example_run.task}",
        key=f"change-{example_run.task}",
        type="tertiary",
        on_click=draft.open_form,
        args=(example_run.task,),
    )


def fill_costs(cost_slots: CostSlots) -> None:
    """Fill in the cost of each example run once a separate process has measured it."""
    pending = any(live_jobs.time_estimate(config) is None for _, config in cost_slots)
    draw = fragment(_fill_cost_slots, "example-costs", POLL_SECONDS if pending else None)
    draw(cost_slots, pending)


def _fill_cost_slots(cost_slots: CostSlots, pending: bool) -> None:
    estimates = [live_jobs.time_estimate(config) for _, config in cost_slots]
    if pending and None not in estimates:
        state.rerun_page()
    for (slot, config), estimate in zip(cost_slots, estimates, strict=True):
        count = count_parameters(config.model)
        size = f"{quantities.weights(count)} weights, {config.training.steps:,} steps"
        slot.caption(f"{size}, {quantities.format_estimate(estimate)}" if estimate else size)


def run_config(example_run: ExampleRun) -> TrainingRun:
    return make_run_config(
        example_run.task,
        title=example_run.title,
        probes=probes(example_run.task),
    )


def _start(example_run: ExampleRun) -> None:
    attempt("train", lambda: live_jobs.start_run(run_config(example_run)))


def own_runs(owner: str) -> None:
    """List the visitor's own runs and races with links to them, if there are any."""
    infos = [info for info in _runs_outside_races() if info.held_by(owner)]
    races = race_cards.started_races(live_jobs.jobs(), owner, started_by_visitor=True)
    if infos or races:
        st.header("Your runs")
        for info in infos:
            _row(info)
        race_cards.race_rows(races, owner)


def other_runs(owner: str) -> None:
    """List the runs of other visitors with links to them, if there are any."""
    infos = [info for info in _runs_outside_races() if not info.held_by(owner)]
    if not infos:
        return
    st.header("Other visitors' runs")
    st.caption("You can open them. Only their owners can control them.")
    for info in infos[:MAX_OTHER_RUNS]:
        _row(info)
    if len(infos) > MAX_OTHER_RUNS:
        st.caption(f"… and {len(infos) - MAX_OTHER_RUNS} older ones.")


def _runs_outside_races() -> list[RunInfo]:
    return [info for info in live_jobs.runs() if info.race is None]


def shipped_runs() -> None:
    """List the runs included with the app, with a link to each."""
    infos = live_jobs.jobs().shipped()
    if not infos:
        return
    st.header("Trained runs")
    st.caption(
        "Runs included with the app. Open one for its curves and the film of its heads, or choose "
        "it as the model on another page."
    )
    order = [f"{SHIPPED_PREFIX}{task}" for task in TASKS]
    positions = {name: position for position, name in enumerate(order)}
    for info in sorted(infos, key=lambda run: (positions.get(run.name, -1), run.name)):
        _row(info)


def shipped_run_of(task: str) -> RunInfo | None:
    """Return the shipped run of this task, if there is one."""
    return _shipped(f"{SHIPPED_PREFIX}{task}")


def _shipped(name: str) -> RunInfo | None:
    return next((info for info in live_jobs.jobs().shipped() if info.name == name), None)


def _row(info: RunInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
        if not info.shipped:
            run_facts.badge(info)
        frame.page_link("pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race="")
        st.caption(" · ".join(run_facts.facts(info)))
