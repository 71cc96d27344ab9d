"""A class's training: runs and races in the students' tabs, and cards of runs on the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.analysis.evidence.verdicts import RULE
from transformer.classroom import Classroom
from transformer.classroom.tab_runs import TabRace, spread, tab_race
from transformer.figures.curves import curves
from transformer.figures.trainer_page import SCORE_RACE
from transformer.figures.wall import Card, thinned, wall_data
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.measures.shape import clearest_head
from transformer.ui.base import state
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import charts, frame, metrics_tail, tables, verdicts, views
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


def show(classroom: Classroom) -> None:
    _train_together()
    fragment(_in_tabs, "class-tab-runs", REFRESH_SECONDS)(classroom)
    fragment(_runs, "class-runs", REFRESH_SECONDS)(classroom)


def _train_together() -> None:
    """Draw links to what a class trains together, in every tab with another seed."""
    st.markdown(
        "**Train together.** Lead the class and open one of these: every device trains it with "
        "another seed, and the results appear here."
    )
    with st.container(horizontal=True):
        frame.page_link(TRAIN, "One model →", here="task=reverse", run="")
        frame.page_link(TRAIN, "A race of three score functions →", here=SCORE_RACE, run="")


def _in_tabs(classroom: Classroom) -> None:
    _tab_runs(classroom)
    _solved_cases(classroom)


def _tab_runs(classroom: Classroom) -> None:
    """Draw what the students' browsers have trained: their runs, or a race with its verdicts."""
    if not (reports := classroom.tab_runs()):
        return
    st.header("Trained in the students' tabs")
    if race := tab_race(reports):
        _tab_race(race)
    if single := {name: runs[0] for name, runs in reports.items() if len(runs) == 1 or not race}:
        st.markdown(spread([*single.values()]))
        _tab_curves({frame.plain(name): run.lines() for name, run in single.items()}, "single")
    if live_classes.is_teacher():
        st.button(
            "Clear the curves",
            key="class-clear-tab-runs",
            on_click=live_classes.as_teacher,
            args=(classroom, classroom.clear_tab_runs),
        )


def _tab_curves(lines: Mapping[str, Sequence[Mapping[str, Any]]], key: str) -> None:
    figure = curves(lines, "sequence_accuracy", title="Right outputs", dark=charts.dark())
    charts.chart(figure, f"class-tab-runs-{key}")


def _tab_race(race: TabRace) -> None:
    """Draw each setting's mean over the tabs, the results of finished runs, and the verdicts."""
    _tab_curves(race.mean_lines(), "race")
    rows = []
    for entry, row in race.table.iterrows():
        n_runs = len(race.runs[str(entry)])
        result = f"{row['mean']:.1%} ({row['min']:.1%} to {row['max']:.1%})" if row["n"] else "–"
        rows.append([str(entry), f"{row['n']:.0f} of {n_runs}", result])
    tables.show(
        "Right outputs at the end: mean over the tabs (minimum to maximum)",
        ("Setting", "Tabs that have finished", "Right outputs"),
        rows,
    )
    for verdict in race.verdicts:
        verdicts.race(verdict)
    st.caption(frame.plain(RULE))


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
            state.change(TRAIN, run=name)
            st.session_state[_OPEN_RUN_KEY] = True
