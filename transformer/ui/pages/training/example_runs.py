"""The start of the Train page: example runs that one click trains, and the list of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from transformer.jobs import JobError, RunInfo, count_parameters
from transformer.jobs.race_runs import submit_race
from transformer.jobs.races import RACES
from transformer.run_config import TrainingRun
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.ui import state
from transformer.ui.pages.training import draft
from transformer.ui.pages.training.draft import probes
from transformer.ui.services import live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, quantities, run_facts
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

RACE_NAME = "scores"
"""The race on the race card."""
MAX_OTHER_RUNS = 30
"""Maximum length of the list of other visitors' runs."""
SHIPPED_PREFIX = "toy-"
"""First part of a shipped run's name; the task's name follows."""


@dataclass(frozen=True)
class ExampleRun:
    """An example run on a card."""

    title: str
    text: str
    icon: str
    task: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


EXAMPLE_RUNS = (
    ExampleRun(
        "Reverse a sequence",
        "The quickest way to see attention form: within seconds, heads form the reversed diagonal, "
        "from the end of the source to its beginning.",
        ":material/swap_horiz:",
        "reverse",
    ),
    ExampleRun(
        "Sort letters",
        "Positions do not help here: each step must find the next letter of the alphabet, wherever "
        "it is in the source.",
        ":material/sort_by_alpha:",
        "sort",
    ),
    ExampleRun(
        "Learn where French puts adjectives",
        "“The black cat” is “le chat noir”: watch cross-attention leave the diagonal at the "
        "adjective, and only there.",
        ":material/translate:",
        "french",
    ),
    ExampleRun(
        "Add two numbers",
        "Digit by digit with a carry: cross-attention learns to read two digits at once. The "
        "hardest of these tasks and the slowest to train.",
        ":material/add:",
        "addition",
    ),
    ExampleRun(
        "Continue a sequence (induction)",
        "The model sees random letters and one of them again, and continues from there. One head "
        "learns to find that letter, another to attend to the one after it: an induction head.",
        ":material/redo:",
        "induction",
    ),
    ExampleRun(
        "Subtract modulo p (grokking)",
        "The model first memorises its training pairs and finds the rule much later: training and "
        "validation curves part, then meet.",
        ":material/lightbulb:",
        "modular",
    ),
)


def cards() -> list[tuple[Any, TrainingRun]]:
    """Draw the cards. Return each one's container for its cost, for `fill_costs`, and its run."""
    cost_slots = []
    columns = [*st.columns(4), *st.columns(4)]
    for column, example_run in zip(columns, EXAMPLE_RUNS, strict=False):
        with column, st.container(border=True, key=f"example-{example_run.task}"):
            st.markdown(f"**{example_run.icon} {example_run.title}**")
            st.write(example_run.text)
            config = run_config(example_run)
            cost_slots.append((st.container(), config))
            with st.container(horizontal=True):
                frame.callback_button(
                    f"Train: {example_run.task}",
                    "play_arrow",
                    _start,
                    example_run,
                    key=f"train-{example_run.task}",
                    type="primary",
                )
                st.button(
                    f"Change settings: {example_run.task}",
                    key=f"change-{example_run.task}",
                    type="tertiary",
                    on_click=draft.open_form,
                    args=(example_run.task,),
                )
            if shipped_run := shipped_run_of(example_run.task):
                frame.page_link(
                    "pages/train.py",
                    f"Open a trained model: {example_run.task} →",
                    run=shipped_run.name,
                    race="",
                )
    with columns[-2], st.container(border=True, key="example-race"):
        st.markdown("**:material/sports_score: Race: scaled against additive**")
        st.write(
            "Three score functions, in heads of growing width: which one still learns when heads "
            "are wide?"
        )
        st.caption(_race_cost())
        frame.callback_button(
            "Start the race: scaled against additive",
            "play_arrow",
            _start_race,
            key="start-example-race",
            type="primary",
        )
    with columns[-1], st.container(border=True, key="example-own"):
        st.markdown("**:material/edit_note: Your own sentences**")
        st.write(
            "Paste or upload sentence pairs. The app learns a vocabulary from them and holds some "
            "out for validation."
        )
        st.button(
            "Add your own sentence pairs",
            key="change-own",
            type="primary",
            on_click=draft.open_form,
            args=("",),
        )
    return cost_slots


def fill_costs(cost_slots: list[tuple[Any, TrainingRun]]) -> None:
    """Fill in the cost of each card once a separate process has measured it."""
    pending = any(live_jobs.time_estimate(config) is None for _, config in cost_slots)
    draw = fragment(_fill_cost_slots, "example-costs", POLL_SECONDS if pending else None)
    draw(cost_slots, pending)


def _fill_cost_slots(cost_slots: list[tuple[Any, TrainingRun]], pending: bool) -> None:
    estimates = [live_jobs.time_estimate(config) for _, config in cost_slots]
    if pending and None not in estimates:
        state.rerun_page()
    for (slot, config), estimate in zip(cost_slots, estimates, strict=True):
        count = count_parameters(config.model)
        size = f"{quantities.weights(count)} weights, {config.training.steps:,} steps"
        slot.caption(f"{size}, {quantities.format_estimate(estimate)}")


def run_config(example_run: ExampleRun) -> TrainingRun:
    return make_run_config(
        example_run.task,
        settings=example_run.settings,
        title=example_run.title if example_run.task != "french" else "Where French puts adjectives",
        probes=probes(example_run.task),
    )


def _race_cost() -> str:
    race = RACES[RACE_NAME]
    runs = len(race.entries) * len(race.seeds)
    return f"{runs} runs, about {quantities.duration(60 * race.minutes)} on two idle cores"


def _start_race() -> None:
    if state.page_view().race:
        return  # a double click
    visitor_id, address = visitor.current_id(), visitor.address_hash()
    try:
        state.change(race=submit_race(live_jobs.jobs(), RACE_NAME, visitor_id, address=address))
    except JobError as error:
        draft.set_error(error)


def _start(example_run: ExampleRun) -> None:
    draft.submit(run_config(example_run), {})


def run_list(owner: str) -> None:
    """List the visitor's own runs and those of others, with a link to each."""
    infos = [info for info in live_jobs.runs() if info.race is None]  # races are listed separately
    own_runs = [info for info in infos if info.held_by(owner)]
    other_runs = [info for info in infos if not info.held_by(owner)]
    st.header("Your runs")
    if not own_runs:
        st.info("You have no runs yet. Click **Train** on one of the cards above.")
    for info in own_runs:
        _row(info)
    if other_runs:
        st.header("Other visitors' runs")
        st.caption("You can open them. Only their owners can control them.")
        for info in other_runs[:MAX_OTHER_RUNS]:
            _row(info)
        if len(other_runs) > MAX_OTHER_RUNS:
            st.caption(f"… and {len(other_runs) - MAX_OTHER_RUNS} older ones.")


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
        with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
            frame.page_link(
                "pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race=""
            )
            st.caption(" · ".join(run_facts.facts(info)))


def shipped_run_of(task: str) -> RunInfo | None:
    """Return the shipped run of this task, if there is one."""
    return next(
        (info for info in live_jobs.jobs().shipped() if info.name == f"{SHIPPED_PREFIX}{task}"),
        None,
    )


def _row(info: RunInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
        run_facts.badge(info)
        frame.page_link("pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race="")
        st.caption(" · ".join(run_facts.facts(info)))
