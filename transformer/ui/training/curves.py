"""The curves of runs, the film of their heads as it grew, and Adam's moments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.figures.curves import QUANTITIES, curves
from transformer.figures.film import film_data
from transformer.figures.moments import moments_data
from transformer.jobs.folder import JobFolder
from transformer.measures.film_steps import film_steps
from transformer.ui.kit import exact
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.remembered import remembered
from transformer.ui.kit.views import component

FIRST = ("loss", "sequence_accuracy")
"""What the two charts show until something else is chosen."""
STACKED = 250
"""Pixels of a chart, where two stand one below the other beside the heads."""
_LABELS = {
    "loss": "Loss",
    "smoothed_loss": "Loss with label smoothing",
    "perplexity": "Perplexity",
    "token_accuracy": "Tokens right",
    "sequence_accuracy": "Sequences right",
    "bleu": "BLEU",
    "aer": "Alignment error",
    "learning_rate": "Learning rate",
    "gradient_norm": "Norm of the gradient",
    "tokens_per_second": "Tokens a second",
}
WHILE_LIVE = 12
"""Steps of the film while the run learns: the whole of it comes when it has ended."""
_film, _moments = component("film"), component("moments")


def charts(runs: Mapping[str, list[dict[str, Any]]], key: str, *, stacked: bool = False) -> None:
    """Two quantities of the runs, each to be chosen, over their steps; side by side or stacked."""
    places = [st.container() for _ in FIRST] if stacked else st.columns(2)
    for place, (column, first) in enumerate(zip(places, _firsts(runs), strict=True)):
        with column:
            what = st.selectbox(
                "Left curve" if place == 0 else "Right curve",
                list(QUANTITIES),
                index=list(QUANTITIES).index(first),
                format_func=lambda name: _LABELS.get(name, name),
                label_visibility="collapsed",
                key=f"curve-{place}-{key}",
            )
            figure = curves(runs, what, dark=dark())
            figure.update_layout(height=STACKED if stacked else 340)
            chart(figure, f"chart-{place}-{key}")


def _firsts(runs: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """What the charts show first: `FIRST`; of early saves, which have no lines of single steps,
    what they have."""
    names = {name for lines in runs.values() for line in lines for name in line}
    if "loss" in names or not names:
        return list(FIRST)
    there = [name for name, q in QUANTITIES.items() if names & {*q.training, q.valid}]
    wanted = [*(name for name in FIRST if name in there), *there, *FIRST]
    return list(dict.fromkeys(wanted))[: len(FIRST)]


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
    st.header("How one matrix moves")
    data = moments_data(folder.inspect())
    _moments(key=f"moments-{folder.name}", data=data)
