"""The race of the layers of Table 1, and of LSTM and GRU: its task, its figure and its verdicts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.evidence.verdicts import RULE, Outcome, results_table, verdict
from transformer.figures.distance_curves import accuracy_by_distance
from transformer.jobs import Computation
from transformer.text.files import read_json
from transformer.training.layer_race import CLAIMS, COLUMNS, ENTRIES, SEEDS, STEPS
from transformer.ui.pages.inside.why.sizes import look_for
from transformer.ui.services import models
from transformer.ui.widgets import frame, tables, verdicts
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed

INCLUDED = Path("races") / "layers.json"
"""The included result, in the folder of checkpoints; `python docs/shipped_runs.py --race` writes
it."""
NAME = "race-of-layers"


def show() -> None:
    """Draw the task, the result of this machine or else the included one, and its verdicts."""
    frame.lead_text(
        "Read a letter, wait, and output it later: over what distance can each layer remember it?"
    )
    picture = st.container()
    look_for(
        "Which lines stay high at every distance? Do the lines of the convolution and of "
        "restricted attention fall to chance where their receptive field ends? When do recurrent "
        "layers forget?"
    )
    st.markdown(
        "Every layer of Table 1, and LSTM and GRU, learns this task with the same number of "
        "weights. Example: three letters, to be output six positions later:"
    )
    st.code("input    c a f · · · 1 2 3\noutput   _ _ _ _ _ _ c a f", language=None)
    measured = computed(
        Computation("transformer.training.layer_race:compute", {"seeds": [*SEEDS]}),
        button="Race the layers on this machine",
        description=f"{len(ENTRIES)} layer types, {len(SEEDS)} seeds each: about seven minutes.",
    )
    result = measured or _included()
    if result is None:
        return
    table = _table(result)
    with picture:
        _figure(table)
        day = time.gmtime(result["when"])
        st.caption(
            f"{day.tm_mday} {time.strftime('%b %Y', day)}, {STEPS} steps. Lines: mean of "
            f"{table['seed'].nunique()} seeds. Shaded: from the worst seed to the best."
        )
    _verdicts(table)
    with st.expander("Accuracy as a table"):
        _numbers(table)


def _included() -> Mapping[str, Any] | None:
    try:
        result: Mapping[str, Any] = read_json(models.folder() / INCLUDED)
    except OSError:
        return None
    return result


def _table(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the lines of `layer_race.compute`, with an infinite reach where it is unlimited."""
    table = pd.DataFrame(result["lines"], columns=list(COLUMNS))
    table["reach"] = table["reach"].astype(float).fillna(math.inf)
    return table


def _figure(table: pd.DataFrame) -> None:
    curves: dict[str, list[Any]] = {entry: [] for entry in ENTRIES}
    for (entry, _), lines in table.groupby(["entry", "seed"]):
        curves[str(entry)].append(
            (lines["distance"].to_numpy(float), lines["accuracy"].to_numpy(float))
        )
    reach = {
        str(entry): float(value) for entry, value in table.groupby("entry")["reach"].first().items()
    }
    chart(accuracy_by_distance(curves, reach, float(table["chance"].iloc[0]), dark=dark()), NAME)


def _numbers(table: pd.DataFrame) -> None:
    chance = float(table["chance"].iloc[0])
    columns = (
        "Layer", "Weights", "d_ff", "Theoretical reach", "Accuracy within reach",
        "Accuracy beyond reach",
    )  # fmt: skip
    rows = [_row(entry, table[table["entry"] == entry]) for entry in ENTRIES]
    tables.show("Accuracy, mean over seeds; two layers each", columns, rows)
    st.caption(
        "Reach: L·(k−1)/2 positions for L layers with a kernel of k, L·(r−1)/2 for a "
        "neighbourhood of r, and m^L − 1 with dilations 1, m, m² … where m = (k+1)/2. "
        f"Beyond it a layer can only guess one of {round(1 / chance)} letters: chance is "
        f"{chance:.1%}."
    )
    tables.csv("Accuracy by distance (.csv)", lambda: table, NAME)


def _row(entry: str, lines: pd.DataFrame) -> tuple[str, ...]:
    reach = float(lines["reach"].iloc[0])
    within = lines.loc[lines["distance"] <= reach, "accuracy"]
    beyond = lines.loc[lines["distance"] > reach, "accuracy"]
    return (
        entry,
        f"{lines['weights'].iloc[0]:,.0f}",
        f"{lines['d_ff'].iloc[0]:,.0f}",
        "everything" if reach == math.inf else f"{reach:g} positions",
        f"{within.mean():.1%}",
        f"{beyond.mean():.1%}" if len(beyond) else "–",
    )


def _verdicts(table: pd.DataFrame) -> None:
    """Draw the verdicts on the mean accuracy over all distances."""
    st.header("Verdicts")
    outcomes = [
        Outcome(
            entry, seed, float(table.query("entry == @entry and seed == @seed")["accuracy"].mean())
        )
        for entry in ENTRIES
        for seed in table["seed"].unique()
    ]
    results = results_table(outcomes, [*ENTRIES])
    for claim in CLAIMS:
        verdicts.race(verdict(results, claim))
    st.caption(
        "About the mean accuracy over all distances after these steps; another task, model size or "
        f"number of steps may give another result. {RULE}"
    )
