"""Attention of a run's probes as it grew, and Adam's moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from transformer.figures.film import film_data, film_steps
from transformer.figures.moments import moments_data
from transformer.jobs.folder import JobFolder
from transformer.ui.kit import exact
from transformer.ui.kit.remembered import remembered
from transformer.ui.kit.views import component

WHILE_LIVE = 12
"""Steps of the film while the run learns: the whole of it comes when it has ended."""

_film, _moments = component("film"), component("moments")


def heads(folder: JobFolder, lines: list[dict[str, Any]], *, live: bool) -> None:
    """The film of the heads: from its beginning, or following a run while it learns."""
    steps = folder.snapshots()
    if not steps:
        st.caption("Its heads will stand here: the first picture is taken before the first step.")
        return
    if live:
        steps = sorted({*film_steps(steps, WHILE_LIVE - 1), steps[-1]})
    notes = {line["step"]: f"loss {line['loss']:.2f}" for line in lines if "loss" in line}
    told = tuple((step, notes.get(step, "")) for step in steps)
    data = _data(str(folder.path), told, -1 if live else steps[0], exact.on())
    _film(key=f"film-{folder.name}", data=data)


@remembered()
def _data(path: str, steps: tuple[tuple[int, str], ...], first: int, exactly: bool) -> bytes:
    """The film of these steps, opened at step `first` (-1: the newest), made once for all."""
    folder = JobFolder(Path(path))
    frames = {step: folder.snapshot(step) for step, _ in steps}
    notes = dict(steps)
    return film_data(frames, folder.labels(), {"step": first}, notes=notes, exact=exactly)


def moments(folder: JobFolder) -> None:
    """One matrix's last update, in the symbols of the notes."""
    st.subheader("How one matrix moves")
    data = moments_data(folder.inspect())
    _moments(key=f"moments-{folder.name}", data=data)
