"""What a class trains: every run by its student's first name, and an end of those that wait."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from transformer.classroom import Classroom
from transformer.jobs import JobError, RunInfo
from transformer.ui import live_jobs
from transformer.ui.classroom import class_race, wall
from transformer.ui.kit.fragment import fragment
from transformer.ui.kit.refusals import attempt, refusal

EVERY = 2.0
"""Seconds between two looks."""
ORDER = ("running", "queued", "paused", "finished", "failed", "cancelled")


def show(room: Classroom) -> None:
    """For the teacher, below who is there."""
    class_race.offer(room)
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
        found, key=lambda one: (ORDER.index(one[1].status), one[1].place or 0, -one[1].turn)
    )


def _runs(room: Classroom) -> None:
    found = of_class(room)
    if not found:
        st.caption("What your students train will stand here, by first name.")
        return
    st.subheader("What the class trains")
    wall.show(found)
    waiting = [info for _, info in found if info.status == "queued"]
    if waiting:
        with st.popover(f"Clear the line ({len(waiting)})", icon=":material/clear_all:"):
            st.markdown("What waits is stopped, and its students may train it again.")
            st.button("Stop what waits", key="class-clear", on_click=_clear, args=(room,))
    refusal("class-runs")


def _clear(room: Classroom) -> None:
    """End the line of the class; what learns already goes on."""

    def clear() -> None:
        for _, info in of_class(room):
            if info.status == "queued":
                with suppress(JobError):  # it has just begun, or its student has stopped it
                    live_jobs.jobs().control(info.name, info.owner, command="stop", for_all=True)

    attempt("class-runs", clear)
