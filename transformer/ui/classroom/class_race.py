"""A race of the whole class: every student has a setting and a seed, and the verdict is all's."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.evidence.verdicts import ENOUGH
from transformer.classroom import Classroom
from transformer.jobs import JobError
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.jobs.races import RACES
from transformer.ui import frame, live_jobs
from transformer.ui.kit import quantities
from transformer.ui.kit.refusals import attempt, refusal
from transformer.ui.server import visitor

TRAIN = "pages/train.py"
_RACE = "class-race"


def offer(room: Classroom) -> None:
    """For the teacher: begin one, or see the table of the one that was begun last."""
    members = room.members()
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Train together", icon=":material/sports_score:"):
            st.markdown(
                "A race of the whole class: every student gets a setting and a seed of their own, "
                "and the table at the end is the class's."
            )
            name = st.selectbox(
                "Race",
                list(RACES),
                format_func=lambda name: RACES[name].title,
                key=_RACE,
                label_visibility="collapsed",
            )
            race, seeds = RACES[name], seeds_for(name, len(members))
            minutes = race.minutes * seeds / len(race.seeds)
            st.write(race.question)
            st.caption(
                f"{len(race.entries)} settings × {seeds} seeds, about "
                f"{quantities.duration(60 * minutes)} on two cores that have nothing else to do"
            )
            st.button(
                "Begin the race", key="class-begin-race", type="primary", on_click=_begin,
                args=(room,),
            )  # fmt: skip
        if room.race:
            frame.link(TRAIN, "The class's race, and what it says →", race=room.race, run="")
    refusal(_RACE)


def of_student(room: Classroom) -> None:
    """For a student: the class's race, and their own runs in it."""
    if not room.race:
        return
    try:
        mine = [run for run in race_runs(live_jobs.jobs(), room.race)
                if run.info.held_by(visitor.known())]  # fmt: skip
    except JobError:
        return
    frame.link(TRAIN, "The class's race, and what it says →", race=room.race, run="")
    for run in mine:
        frame.link(TRAIN, f"Yours: {frame.plain(run.info.title)} →", run=run.info.name, race="")


def seeds_for(race: str, members: int) -> int:
    """So many seeds of each setting that there is a run for everybody, and enough for a verdict."""
    return max(ENOUGH, -(-members // len(RACES[race].entries)))


def _begin(room: Classroom) -> None:
    name, students = st.session_state[_RACE], [one.visitor for one in room.members()]
    seeds = range(1, seeds_for(name, len(students)) + 1)

    def begin() -> None:
        if not students:
            raise JobError("nobody is here yet: begin when your students have joined")
        room.race = submit_race(
            live_jobs.jobs(), name, visitor.known(), seeds, address=visitor.address(),
            among=students,
        )  # fmt: skip

    attempt(_RACE, begin)
