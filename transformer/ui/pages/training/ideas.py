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

RACE = "scores"
"""The race of the front door."""
OTHERS = 30
"""Most runs of others that are listed."""
TOY = "toy-"
"""What the names of the tasks' runs begin with that came with the app; then the task's name."""


@dataclass(frozen=True)
class Idea:
    """A run that a card describes; with no task the form opens, for pairs of one's own."""

    title: str
    text: str
    icon: str
    task: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


IDEAS = (
    Idea(
        "Reverse a sequence",
        "The quickest way to see attention form: within seconds, heads form the reversed diagonal, "
        "from the end of the source to its beginning.",
        ":material/swap_horiz:",
        "reverse",
    ),
    Idea(
        "Sort letters",
        "Positions do not help here: each step must find the next letter of the alphabet, wherever "
        "it is in the source.",
        ":material/sort_by_alpha:",
        "sort",
    ),
    Idea(
        "Learn where French puts adjectives",
        "“The black cat” is “le chat noir”: watch cross-attention leave the diagonal at the "
        "adjective, and only there.",
        ":material/translate:",
        "french",
    ),
    Idea(
        "Add two numbers",
        "Digit by digit with a carry: cross-attention learns to read two digits at once. The "
        "hardest of these tasks and the slowest to train.",
        ":material/add:",
        "addition",
    ),
)


def cards() -> list[tuple[Any, TrainingRun]]:
    """Draw the cards; returns a container for each one's cost, for `measure` to fill."""
    places = []
    columns = [*st.columns(3), *st.columns(3)]
    for column, idea in zip(columns, IDEAS, strict=False):
        with column, st.container(border=True, key=f"idea-{idea.task}"):
            st.markdown(f"**{idea.icon} {idea.title}**")
            st.write(idea.text)
            config = config_of(idea)
            places.append((st.container(), config))
            with st.container(horizontal=True):
                frame.callback_button(
                    f"Train: {idea.task}",
                    "play_arrow",
                    _start,
                    idea,
                    key=f"train-{idea.task}",
                    type="primary",
                )
                st.button(
                    f"Change settings: {idea.task}",
                    key=f"change-{idea.task}",
                    type="tertiary",
                    on_click=draft.begin,
                    args=(idea.task,),
                )
            if trained := of_task(idea.task):
                frame.page_link(
                    "pages/train.py",
                    f"Open a trained one: {idea.task} →",
                    run=trained.name,
                    race="",
                )
    with columns[4], st.container(border=True, key="idea-race"):
        st.markdown("**:material/sports_score: Race: scaled against additive**")
        st.write(
            "Three score functions, in heads of growing width: which one still learns when heads "
            "are wide?"
        )
        st.caption(_race_cost())
        frame.callback_button(
            "Start the race: scaled against additive",
            "play_arrow",
            _race,
            key="start-idea-race",
            type="primary",
        )
    with columns[5], st.container(border=True, key="idea-own"):
        st.markdown("**:material/edit_note: Your own sentences**")
        st.write(
            "Paste or upload sentence pairs. The app learns a vocabulary from them and holds some "
            "out for validation."
        )
        st.button(
            "Add your own sentence pairs",
            key="change-own",
            type="primary",
            on_click=draft.begin,
            args=("",),
        )
    return places


def measure(places: list[tuple[Any, TrainingRun]]) -> None:
    """Fill in the cost of each card, as a separate process measures it."""
    live = any(live_jobs.time_estimate(config) is None for _, config in places)
    fragment(_filled, "idea-costs", POLL_SECONDS if live else None)(places, live)


def _filled(places: list[tuple[Any, TrainingRun]], live: bool) -> None:
    found = [live_jobs.time_estimate(config) for _, config in places]
    if live and None not in found:
        state.rerun_page()
    for (place, config), one in zip(places, found, strict=True):
        count = count_parameters(config.model)
        about = f"{quantities.weights(count)} weights, {config.training.steps:,} steps"
        place.caption(f"{about}, {quantities.format_estimate(one)}")


def config_of(idea: Idea) -> TrainingRun:
    return make_run_config(
        idea.task,
        settings=idea.settings,
        title=idea.title if idea.task != "french" else "Where French puts adjectives",
        probes=probes(idea.task),
    )


def _race_cost() -> str:
    race = RACES[RACE]
    runs = len(race.entries) * len(race.seeds)
    return f"{runs} runs, about {quantities.duration(60 * race.minutes)} on two idle cores"


def _race() -> None:
    if state.page_view().race:
        return  # pressed twice
    who, where = visitor.current_id(), visitor.address_hash()
    try:
        state.change(race=submit_race(live_jobs.jobs(), RACE, who, address=where))
    except JobError as error:
        draft.refuse(error)


def _start(idea: Idea) -> None:
    draft.submit(config_of(idea), {})


def listed(owner: str) -> None:
    """List one's own runs and those of others, with a link to each."""
    infos = [info for info in live_jobs.runs() if info.race is None]  # those have a list
    mine = [info for info in infos if info.held_by(owner)]
    others = [info for info in infos if not info.held_by(owner)]
    st.header("Your runs")
    if not mine:
        st.info("You have no runs yet. Click **Train** on one of the cards above.")
    for info in mine:
        _row(info)
    if others:
        st.header("Other visitors' runs")
        st.caption("You can open them. Only their owners can control them.")
        for info in others[:OTHERS]:
            _row(info)
        if len(others) > OTHERS:
            st.caption(f"… and {len(others) - OTHERS} older ones.")


def shipped() -> None:
    """List the runs included with the app, with a link to each."""
    infos = live_jobs.jobs().shipped()
    if not infos:
        return
    st.header("Trained runs")
    st.caption(
        "Runs included with the app. Open one for its curves and the film of its heads, or choose "
        "it as the model on another page."
    )
    order = [f"{TOY}{task}" for task in TASKS]
    places = {name: place for place, name in enumerate(order)}
    for info in sorted(infos, key=lambda one: (places.get(one.name, -1), one.name)):
        with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
            frame.page_link(
                "pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race=""
            )
            st.caption(" · ".join(run_facts.facts(info)))


def of_task(task: str) -> RunInfo | None:
    """The run of this task that came with the app, if there is one."""
    return next((one for one in live_jobs.jobs().shipped() if one.name == f"{TOY}{task}"), None)


def _row(info: RunInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"row-{info.name}"):
        run_facts.badge(info)
        frame.page_link("pages/train.py", f"**{frame.plain(info.title)}**", run=info.name, race="")
        st.caption(" · ".join(run_facts.facts(info)))
