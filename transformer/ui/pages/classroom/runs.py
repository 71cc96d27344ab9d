"""A class's training runs: listed by first names, a race of the whole class, and the wall."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.analysis.evidence.verdicts import ENOUGH
from transformer.classroom import Classroom
from transformer.figures.film import clearest_head
from transformer.figures.wall import Card, thinned, wall_data
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.jobs.races import RACES
from transformer.ui import state
from transformer.ui.services import live_jobs
from transformer.ui.services.memory_cache import cached
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, metrics_tail, quantities, views
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import fragment

EVERY = 2.0
"""Seconds between two reruns."""
ORDER = ("running", "queued", "paused", "finished", "failed", "cancelled")
TRAIN = "pages/train.py"
KEY, _OPEN = "wall", "wall_open"
PICTURE = "0.cross"
"""Of a snapshot: the cross-attention of the first probe."""
Picture = tuple[npt.NDArray[np.floating], str]
NONE: Picture = np.empty((0, 0)), ""
_RACE, _TOGETHER = "class-race", "class-together"


def show(room: Classroom) -> None:
    offer(room)
    fragment(_runs, "class-runs", EVERY)(room)


def of_class(room: Classroom) -> list[tuple[str, RunInfo]]:
    """The runs that students may show, each with the names of those whose it is: those that learn
    first, then the line, then what is over. Raises JobError."""
    names = {one.visitor: one.label for one in room.members()}
    found = [
        (", ".join(names[one] for one in info.holders if one in names), info)
        for info in live_jobs.jobs().runs()
        if any(one in names for one in info.holders) and info.shared
    ]
    return sorted(
        found,
        key=lambda one: (ORDER.index(one[1].status), one[1].queue_position or 0, -one[1].turn),
    )


def _runs(room: Classroom) -> None:
    found = of_class(room)
    if not found:
        st.caption("Your students' training runs appear here, by first name.")
        return
    st.header("Training runs of the class")
    wall(found)
    waiting = [info for _, info in found if info.status == "queued"]
    if waiting:
        with st.popover(f"Clear the queue ({len(waiting)})", icon=":material/clear_all:"):
            st.markdown("This stops all waiting runs. Students can start them again.")
            st.button("Stop the waiting runs", key="class-clear", on_click=_clear, args=(room,))
    show_refusal("class-runs")


def _clear(room: Classroom) -> None:
    """Stop the class's waiting runs; those that train already continue."""

    def clear() -> None:
        for _, info in of_class(room):
            if info.status == "queued":
                with suppress(JobError):  # it has just begun, or its student has stopped it
                    live_jobs.jobs().control(info.name, info.owner, command="stop", for_all=True)

    attempt("class-runs", clear)


def wall(found: list[tuple[str, RunInfo]]) -> None:
    """All these runs, each with the names of those whose it is; in a fragment."""
    if st.session_state.pop(_OPEN, False):
        st.switch_page(TRAIN, query_params=state.params(TRAIN))
    cards = []
    for who, info in found:
        with suppress(JobError):  # deleted meanwhile
            cards.append(_card(who, info, live_jobs.jobs().folder(info.name)))
    names = {info.name for _, info in found}
    views.component("wall")(key=KEY, data=wall_data(cards), on_choice_change=lambda: _open(names))


def _card(who: str, info: RunInfo, folder: JobFolder) -> Card:
    lines = metrics_tail.metrics(folder)
    steps = folder.snapshots()
    weights, head = _picture(str(folder.path), steps[-1]) if steps else NONE
    return Card(
        name=info.name,
        who=who,
        title=info.title,
        status=info.status
        if info.queue_position is None
        else f"queued, number {info.queue_position}",
        step=info.step,
        share=info.progress or 0.0,
        right=metrics_tail.newest(lines, "sequence_accuracy"),
        curve=thinned([(line["step"], line["loss"]) for line in lines if "loss" in line]),
        weights=weights,
        head=head,
    )


@cached()
def _picture(path: str, step: int) -> Picture:
    """The clearest head of the cross-attention at this step, and what it is called."""
    weights = JobFolder(Path(path)).snapshot(step).get(PICTURE)
    if weights is None or not weights.size:
        return NONE
    layer, head = clearest_head(weights)
    name = f"Cross-attention, layer {layer + 1}, head {head + 1}"
    return np.minimum(weights[layer, head], 1.0), name


def _open(names: set[str]) -> None:
    """The browser asks for a run of the wall, to look at it by itself."""
    with suppress(KeyError, TypeError):
        name = st.session_state[KEY]["choice"]["open"]
        if name in names:
            state.change(TRAIN, run=name, race="")
            st.session_state[_OPEN] = True


def offer(room: Classroom) -> None:
    """For the teacher: start a race, or open the one that was started last."""
    members = room.members()
    with st.container(horizontal=True, vertical_alignment="center"):
        # It covers the wall, so it closes when the race has started: on_change tracks its state.
        with st.popover(
            "Train together", icon=":material/sports_score:", key=_TOGETHER, on_change="rerun"
        ):
            st.markdown(
                "A race of the whole class: every student trains one setting with a seed of their "
                "own, and the results are compared in one table."
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
                f"{quantities.duration(60 * minutes)} on two idle cores"
            )
            frame.callback_button(
                "Start the race", "", _begin, room, key="class-begin-race", type="primary"
            )
        if room.race:
            frame.page_link(TRAIN, "The race of the class →", race=room.race, run="")
    show_refusal(_RACE)


def of_student(room: Classroom) -> None:
    """For a student: the class's race, and their own runs in it."""
    if not room.race:
        return
    st.markdown("**Your class is training together.**")
    try:
        mine = [run for run in race_runs(live_jobs.jobs(), room.race)
                if run.info.held_by(visitor.current_id())]  # fmt: skip
    except JobError:
        return
    frame.page_link(TRAIN, "The race of the class →", race=room.race, run="")
    for run in mine:
        frame.page_link(
            TRAIN, f"Your run: {frame.plain(run.info.title)} →", run=run.info.name, race=""
        )


def seeds_for(race: str, members: int) -> int:
    """The number of seeds that gives every student a run, and the race a verdict."""
    return max(ENOUGH, -(-members // len(RACES[race].entries)))


def _begin(room: Classroom) -> None:
    name, students = st.session_state[_RACE], [one.visitor for one in room.members()]
    seeds = range(1, seeds_for(name, len(students)) + 1)

    def begin() -> None:
        if not students:
            raise JobError("no students yet: start the race when they have joined")
        jobs = live_jobs.jobs()
        race = submit_race(
            jobs, name, visitor.current_id(), seeds, address=visitor.address_hash(), owners=students
        )
        first: dict[str, str] = {}
        for run in race_runs(jobs, race):
            for one in run.info.holders:
                first.setdefault(one, run.info.name)
        room.begin_race(race, {one: first[one] for one in students if one in first})

    if attempt(_RACE, begin):
        st.session_state[_TOGETHER] = False
