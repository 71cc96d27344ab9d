"""Races on the Train page: cards to start one, and the list of started ones."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.analysis.evidence.verdicts import MIN_SEEDS
from transformer.jobs import Jobs
from transformer.jobs.race_runs import RaceRun, race_runs, submit_race
from transformer.training.races import RACES, Race
from transformer.ui.base import state, visitor
from transformer.ui.widgets import frame, quantities
from transformer.ui.widgets.callbacks import attempt, show_refusal

SEED_LABELS = {1: f"1 (no verdict, needs {MIN_SEEDS})", 3: "3", 5: "5"}
MAX_LISTED = 20
"""Maximum number of listed races."""
_SEEDS = "race-seeds"
_PAGE = "pages/train.py"


def section(jobs: Jobs, owner: str) -> None:
    """Draw all races as cards, then the list of those that others have started."""
    st.header("Races")
    st.write(
        "A race trains several values of one setting on the same data for the same number of "
        "steps. Results vary by chance, so each value runs with several seeds, and a verdict is "
        "given only if they support it."
    )
    seeds()
    columns = st.columns(2)
    for number, race in enumerate(RACES.values()):
        with columns[number % 2], st.container(border=True, key=f"race-{race.name}"):
            card(jobs, race, owner)
            if race.name == "layers":
                frame.page_link(_PAGE, "The task, and a result →", race=race.name)
    race_rows(started_races(jobs, owner, started_by_visitor=False), owner)


def seeds() -> None:
    """Draw the choice of the number of seeds, and why the last start was refused."""
    st.segmented_control(
        "Seeds of each setting",
        list(SEED_LABELS),
        format_func=SEED_LABELS.__getitem__,
        default=MIN_SEEDS,
        required=True,
        key=_SEEDS,
        help=f"A verdict needs at least {MIN_SEEDS}; more seeds reveal smaller differences.",
    )
    show_refusal("race")


def card(jobs: Jobs, race: Race, owner: str) -> None:
    """Draw a race's question, its cost and its start button; call `seeds` before."""
    count = int(st.session_state[_SEEDS] or MIN_SEEDS)
    runs = count * len(race.entries)
    minutes = race.minutes * count / len(race.seeds)
    st.markdown(f"**:material/sports_score: {race.title}**")
    st.write(race.question)
    st.caption(
        f"{len(race.entries)} settings × {count} seed{'s' if count > 1 else ''} = {runs} runs, "
        f"about {quantities.duration(60 * minutes)} on two idle cores"
    )
    if count < MIN_SEEDS:
        st.caption(
            f":material/info: This race cannot reach a verdict: a verdict needs {MIN_SEEDS} seeds "
            "of each setting."
        )
    st.button(
        f"Start the race: {race.title.lower()}",
        key=f"start-race-{race.name}",
        type="primary",
        icon=":material/play_arrow:",
        on_click=_start,
        args=(jobs, race.name, owner, count, state.page_view().race),
    )


def _start(jobs: Jobs, race: str, owner: str, count: int, open_race: str) -> None:
    if state.page_view().race != open_race:
        return  # double click
    seeds, address = range(1, count + 1), visitor.address_hash()
    attempt(
        "race", lambda: state.change(race=submit_race(jobs, race, owner, seeds, address=address))
    )


def started_races(jobs: Jobs, owner: str, *, started_by_visitor: bool) -> list[list[RaceRun]]:
    """Return the runs of every race that the visitor or somebody else started, newest first."""
    races: dict[str, list[RaceRun]] = {}
    for run in race_runs(jobs):
        if (run.info.requester == owner) == started_by_visitor:
            races.setdefault(run.race.id, []).append(run)
    return sorted(races.values(), key=lambda runs: runs[0].info.created, reverse=True)


def race_rows(races: list[list[RaceRun]], owner: str) -> None:
    """Draw a row for each race with its progress and a link to it."""
    for runs in races[:MAX_LISTED]:
        first = runs[0]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(progress(runs), color=_colour(runs))
            name = first.race.name
            title = RACES[name].title if name in RACES else name
            frame.page_link(_PAGE, f"**{frame.plain(title)}**", race=first.race.id)
            owner_note = [] if first.info.requester == owner else ["someone else's"]
            st.caption(" · ".join([*owner_note, quantities.ago(first.info.created)]))


def progress(runs: list[RaceRun]) -> str:
    n_ended = sum(run.info.status in ("finished", "cancelled", "failed") for run in runs)
    return f"{n_ended} of {len(runs)} runs ended"


def _colour(runs: list[RaceRun]) -> Any:
    statuses = {run.info.status for run in runs}
    if statuses & {"running", "queued"}:
        return "blue"
    return "green" if statuses == {"finished"} else "gray"
