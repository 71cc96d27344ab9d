"""What a class trains, on one page for all to see: a small curve and a head in motion for each."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.figures.film import clearest_head
from transformer.figures.wall import Card, thinned, wall_data
from transformer.jobs import JobError, RunInfo
from transformer.jobs.folder import JobFolder
from transformer.ui import live_jobs, state
from transformer.ui.kit import metrics_tail, views
from transformer.ui.kit.remembered import remembered

TRAIN = "pages/train.py"
KEY, _OPEN = "wall", "wall_open"
PICTURE = "0.cross"
"""Of a snapshot: the cross-attention of the first probe."""
Picture = tuple[npt.NDArray[np.floating], str]
NONE: Picture = np.empty((0, 0)), ""


def show(found: list[tuple[str, RunInfo]]) -> None:
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
        status=info.status if info.place is None else f"queued, place {info.place}",
        step=info.step,
        share=info.progress or 0.0,
        right=metrics_tail.newest(lines, "sequence_accuracy"),
        curve=thinned([(line["step"], line["loss"]) for line in lines if "loss" in line]),
        weights=weights,
        head=head,
    )


@remembered()
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
