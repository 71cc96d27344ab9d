"""A class's training runs: their cards for the projector, and a race of the whole class."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.analysis.evidence.verdicts import MIN_SEEDS
from transformer.classroom import Classroom
from transformer.classroom.tab_runs import spread
from transformer.figures.curves import curves
from transformer.figures.wall import Card, thinned, wall_data
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.measures.shape import clearest_head
from transformer.training.races import RACES
from transformer.ui.base import state, visitor
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import charts, frame, metrics_tail, quantities, views
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import fragment

REFRESH_SECONDS = 2.0
"""Seconds between two reruns."""
STATUS_ORDER = ("running", "queued", "paused", "finished", "failed", "cancelled")
TRAIN = "pages/train.py"
WALL_KEY, _OPEN_RUN_KEY = "wall", "wall_open"
PROBE_TENSOR = "0.cross"
"""A snapshot's tensor on the cards: the cross-attention of the first probe."""
Picture = tuple[npt.NDArray[np.floating], str]
NO_PICTURE: Picture = np.empty((0, 0)), ""
_RACE_KEY, _POPOVER_KEY = "class-race", "class-together"


def show(classroom: Classroom) -> None:
    race_controls(classroom)
    fragment(_in_tabs, "class-tab-runs", REFRESH_SECONDS)(classroom)
    fragment(_runs, "class-runs", REFRESH_SECONDS)(classroom)


def _in_tabs(classroom: Classroom) -> None:
    _tab_runs(classroom)
    _solved_cases(classroom)


def _tab_runs(classroom: Classroom) -> None:
    """Draw the curves of the runs that the students' browsers have trained."""
    if not (named_runs := classroom.tab_runs()):
        return
    st.header("Trained in the students' tabs")
    st.markdown(spread(named_runs))
    lines = {frame.plain(name): run.lines() for name, run in named_runs.items()}
    figure = curves(lines, "sequence_accuracy", title="Right outputs", dark=charts.dark())
    charts.chart(figure, "class-tab-runs-chart")
    if live_classes.is_teacher():
        st.button(
            "Clear the curves",
            key="class-clear-tab-runs",
            on_click=live_classes.as_teacher,
            args=(classroom, classroom.clear_tab_runs),
        )


def _solved_cases(classroom: Classroom) -> None:
    """Draw who has solved which cases of the bug clinic, most cases first."""
    if not (solved := classroom.solved_cases()):
        return
    st.header("Bug clinic")
    for name, cases in sorted(solved.items(), key=lambda named: -len(named[1])):
        numbers = ", ".join(map(str, cases))
        st.markdown(f"**{frame.plain(name)}** has solved {len(cases)}: {numbers}.")


def class_runs(classroom: Classroom) -> list[tuple[str, RunInfo]]:
    """Return the shared runs of all students, each with its owners' names, sorted by status: first
    running, then queued, then ended. Raises JobError."""
    names = {member.visitor: member.label for member in classroom.members()}
    named_runs = [
        (", ".join(names[member] for member in info.holders if member in names), info)
        for info in live_jobs.jobs().runs()
        if any(member in names for member in info.holders) and info.shared
    ]
    return sorted(
        named_runs,
        key=lambda named_run: (
            STATUS_ORDER.index(named_run[1].status),
            named_run[1].queue_position or 0,
            -named_run[1].turn,
        ),
    )


def _runs(classroom: Classroom) -> None:
    named_runs = class_runs(classroom)
    if not named_runs:
        st.caption("Your students' training runs appear here, by first name.")
        return
    st.header("Training runs of the class")
    draw_cards(named_runs)
    waiting = [info for _, info in named_runs if info.status == "queued"]
    if waiting:
        with st.popover(f"Clear the queue ({len(waiting)})", icon=":material/clear_all:"):
            st.markdown("This stops all waiting runs. Students can start them again.")
            st.button(
                "Stop the waiting runs",
                key="class-clear",
                on_click=live_classes.as_teacher,
                args=(classroom, _clear, classroom),
            )
    show_refusal("class-runs")


def _clear(classroom: Classroom) -> None:
    """Stop the class's waiting runs; those that train already continue."""

    def clear() -> None:
        for _, info in class_runs(classroom):
            if info.status == "queued":
                with suppress(JobError):  # it began in the meantime, or its student has stopped it
                    live_jobs.jobs().control(info.name, info.owner, command="stop", for_all=True)

    attempt("class-runs", clear)


def draw_cards(named_runs: list[tuple[str, RunInfo]]) -> None:
    """Draw a card for each run with its owners' names; to be called in a fragment."""
    if st.session_state.pop(_OPEN_RUN_KEY, False):
        st.switch_page(TRAIN, query_params=state.params(TRAIN))
    cards = []
    for student_names, info in named_runs:
        with suppress(JobError):  # deleted meanwhile
            cards.append(_card(student_names, info, live_jobs.jobs().folder(info.name)))
    names = {info.name for _, info in named_runs}
    views.component("wall")(
        key=WALL_KEY, data=wall_data(cards), on_choice_change=lambda: _open(names)
    )


def _card(student_names: str, info: RunInfo, folder: JobFolder) -> Card:
    lines = metrics_tail.metrics(folder)
    steps = folder.snapshots()
    weights, head = _picture(str(folder.path), steps[-1]) if steps else NO_PICTURE
    return Card(
        name=info.name,
        owner=student_names,
        title=info.title,
        status=info.status
        if info.queue_position is None
        else f"queued, number {info.queue_position}",
        step=info.step,
        share=info.progress or 0.0,
        accuracy=metrics_tail.newest(lines, "sequence_accuracy"),
        curve=thinned([(line["step"], line["loss"]) for line in lines if "loss" in line]),
        weights=weights,
        head=head,
    )


@cached()
def _picture(path: str, step: int) -> Picture:
    """Return the weights and the name of the strongest cross-attention head at this step."""
    weights = JobFolder(Path(path)).snapshot(step).get(PROBE_TENSOR)
    if weights is None or not weights.size:
        return NO_PICTURE
    layer, head = clearest_head(weights)
    name = f"Cross-attention, layer {layer + 1}, head {head + 1}"
    return np.minimum(weights[layer, head], 1.0), name


def _open(names: set[str]) -> None:
    """Open the run whose card was clicked; a callback."""
    with suppress(KeyError, TypeError):
        name = st.session_state[WALL_KEY]["choice"]["open"]
        if name in names:
            state.change(TRAIN, run=name, race="")
            st.session_state[_OPEN_RUN_KEY] = True


def race_controls(classroom: Classroom) -> None:
    """Draw the teacher's controls: start a race, or open the latest one."""
    members = classroom.members()
    with st.container(horizontal=True, vertical_alignment="center"):
        # The popover covers the cards, so it closes when the race starts: on_change tracks it.
        with st.popover(
            "Train together", icon=":material/sports_score:", key=_POPOVER_KEY, on_change="rerun"
        ):
            st.markdown(
                "A race of the whole class: every student trains one setting with their own seed. "
                "One table compares the results."
            )
            name = st.selectbox(
                "Race",
                list(RACES),
                format_func=lambda name: RACES[name].title,
                key=_RACE_KEY,
                label_visibility="collapsed",
            )
            race, seeds = RACES[name], seed_count(name, len(members))
            minutes = race.minutes * seeds / len(race.seeds)
            st.write(race.question)
            st.caption(
                f"{len(race.entries)} settings × {seeds} seeds, about "
                f"{quantities.duration(60 * minutes)} on two idle cores"
            )
            frame.callback_button(
                "Start the race",
                "",
                live_classes.as_teacher,
                classroom,
                _start_race,
                classroom,
                key="class-begin-race",
                type="primary",
            )
        if classroom.race:
            frame.page_link(TRAIN, "The race of the class →", race=classroom.race, run="")
    show_refusal(_RACE_KEY)


def student_runs(classroom: Classroom) -> None:
    """Draw links to the class's race and to the student's own runs in it."""
    if not classroom.race:
        return
    st.markdown("**Your class is training together.**")
    try:
        own_runs = [run for run in race_runs(live_jobs.jobs(), classroom.race)
                if run.info.held_by(visitor.current_id())]  # fmt: skip
    except JobError:
        return
    frame.page_link(TRAIN, "The race of the class →", race=classroom.race, run="")
    for run in own_runs:
        frame.page_link(
            TRAIN, f"Your run: {frame.plain(run.info.title)} →", run=run.info.name, race=""
        )


def seed_count(race: str, members: int) -> int:
    """Return the number of seeds that is enough for a verdict and gives every student a run."""
    return max(MIN_SEEDS, -(-members // len(RACES[race].entries)))


def _start_race(classroom: Classroom) -> None:
    name, students = st.session_state[_RACE_KEY], [member.visitor for member in classroom.members()]
    seeds = range(1, seed_count(name, len(students)) + 1)

    def begin() -> None:
        if not students:
            raise JobError("no students yet: start the race when they have joined")
        jobs = live_jobs.jobs()
        race = submit_race(
            jobs, name, visitor.current_id(), seeds, address=visitor.address_hash(), owners=students
        )
        first_run: dict[str, str] = {}
        for run in race_runs(jobs, race):
            for visitor_id in run.info.holders:
                first_run.setdefault(visitor_id, run.info.name)
        classroom.begin_race(
            race,
            {
                visitor_id: first_run[visitor_id]
                for visitor_id in students
                if visitor_id in first_run
            },
        )

    if attempt(_RACE_KEY, begin):
        st.session_state[_POPOVER_KEY] = False
