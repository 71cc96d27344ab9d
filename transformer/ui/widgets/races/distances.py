"""The race of layers: accuracy against distance, and what theory says of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from transformer.figures.race_curves import accuracy_by_distance
from transformer.jobs import Jobs
from transformer.jobs.race_runs import RaceRun, by_distance
from transformer.jobs.races import Race
from transformer.ui.widgets import tables
from transformer.ui.widgets.charts import chart, dark


def show(jobs: Jobs, race: Race, runs: list[RaceRun]) -> None:
    """The picture, the table beside it and the file; of the newest look at every run."""
    st.header("Accuracy by distance")
    table = by_distance(jobs, runs)
    if table.empty:
        st.caption("Results appear after the first run’s first evaluation.")
        return
    drawn(table, list(race.entries))
    figures(table, list(race.entries), f"{runs[0].race.id}-distances")


def drawn(table: pd.DataFrame, entries: Sequence[str]) -> None:
    """The picture of a table of `race_runs.by_distance`."""
    of_entry = {entry: table[table["entry"] == entry] for entry in entries}
    curves = {
        entry: [
            (one["distance"].to_numpy(float), one["accuracy"].to_numpy(float))
            for _, one in lines.groupby("seed")
        ]
        for entry, lines in of_entry.items()
    }
    begun = {entry: lines for entry, lines in of_entry.items() if len(lines)}
    figure = accuracy_by_distance(
        curves,
        {entry: float(lines["reach"].iloc[0]) for entry, lines in begun.items()},
        float(table["chance"].iloc[0]),
        dark=dark(),
    )
    figure.update_layout(height=430)
    chart(figure, "distance")


def figures(table: pd.DataFrame, entries: Sequence[str], name: str) -> None:
    """The same in numbers, and as the file of this name."""
    of_entry = {entry: table[table["entry"] == entry] for entry in entries}
    begun = {entry: lines for entry, lines in of_entry.items() if len(lines)}
    chance = float(table["chance"].iloc[0])
    tables.show(
        "Letters right, mean over seeds; two layers each",
        ("Layer", "Weights", "d_ff", "Reach in theory", "Within reach", "Beyond it"),
        [_row(entry, lines, chance) for entry, lines in begun.items()],
    )
    st.caption(
        "Reach: L·(k−1)/2 positions for L layers with a kernel of k, L·(r−1)/2 for a "
        "neighbourhood of r, and m^L − 1 with dilations 1, m, m² … where m = (k+1)/2. "
        f"Beyond it a layer can only guess: one of {round(1 / chance)} letters, {chance:.1%}. "
        "Tinted: from the worst seed to the best."
    )
    tables.csv(
        "Accuracy by distance as CSV",
        lambda: table,
        name,
    )


def _row(entry: str, lines: pd.DataFrame, chance: float) -> tuple[str, ...]:
    reach = float(lines["reach"].iloc[0])
    near = lines["distance"] <= reach
    within, beyond = (lines.loc[part, "accuracy"] for part in (near, ~near))
    return (
        entry,
        f"{lines['weights'].iloc[0]:,.0f}",
        f"{lines['d_ff'].iloc[0]:,.0f}",
        "everything" if reach == math.inf else f"{reach:g} positions",
        f"{within.mean():.1%}",
        f"{beyond.mean():.1%}, chance {chance:.1%}" if len(beyond) else "–",
    )
