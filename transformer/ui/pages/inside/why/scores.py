"""Why dot products are divided by √d_k, measured on random vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.table1 import score_scale
from transformer.analysis.table1.score_scale import (
    KINDS,
    N_KEYS,
    N_ROWS,
    SATURATION_THRESHOLD,
    WIDTHS,
    ScoreSample,
)
from transformer.config import Score
from transformer.figures.score_scale import against_width, one_row
from transformer.figures.trainer_page import SCORE_RACE
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.why.sizes import look_for
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

CURVE_SEED = 1  # for the curves over all values of d_k
# Plotly takes most of a rerun, so figures that depend on no slider are cached for all sessions.
_against_width = st.cache_resource(max_entries=64, show_spinner=False)(against_width)


def show() -> None:
    """Draw the scores of random vectors."""
    frame.lead_text(
        "Large scores saturate the softmax, and its gradient vanishes: hence q·k / √d_k."
    )
    picture = st.container()
    view = state.view(Inside)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            options=sorted({*WIDTHS, view.dk}),
            width=420,
            **state.bound("dk"),
        )
        frame.state_button(
            "New sample",
            "casino",
            {"seed": view.seed % 999 + 1},
            help="Draw other random queries and keys.",
        )
    with picture:
        _row(view.dk, view.seed)
    st.markdown(
        "If the components of q and k are independent with mean 0 and variance 1, then q·k has "
        "variance **d_k** (section 3.2.1, footnote 4). Additive attention does not need the "
        "division."
    )
    with st.expander("Measured over many queries"):
        _figures(_cached_measurements((view.dk,), view.seed), view.dk)
    with st.expander("Dependence on d_k"):
        _curves(view.dk)
    frame.page_link(
        "pages/train.py", "Does it matter for training? Race all three →", here=SCORE_RACE, run=""
    )


def _row(d_k: int, seed: int) -> None:
    """Draw one row for each score function: scores, weights and gradients."""
    samples = _cached_samples(d_k, seed)
    limits = (
        max(float(abs(sample.scores).max()) for sample in samples.values()),
        1.0,
        max(float(sample.query_gradients.max()) for sample in samples.values()),
    )
    for number, (column, (kind, sample)) in enumerate(
        zip(st.columns(3), samples.items(), strict=True)
    ):
        with column:
            st.markdown(f"**{KINDS[kind]}**")
            figure = one_row(
                sample.scores[0], sample.weights[0], sample.query_gradients[0],
                colour=number, y_limits=limits, first=1, dark=dark(),
            )  # fmt: skip
            figure.update_layout(height=430)
            chart(figure, f"row-{kind}")
    look_for(
        "From top to bottom: the scores, their softmax, and how much each weight changes with the "
        "query. Increase d_k far: for q·k one weight approaches 1 and the gradients vanish in most "
        "samples; for q·k / √d_k they stay about the same."
    )
    st.caption(
        f"One query and {N_KEYS} keys, the same on the left, in the middle and on the right, on "
        "the same scales. Bottom row, ‖∂w_j/∂q‖: how much the weight "
        "of key j changes with the query. If one weight is nearly 1, all gradients are nearly 0."
    )


def _figures(table: pd.DataFrame, d_k: int) -> None:
    """Draw the measurements at the selected d_k as a table and a summary."""
    columns = (
        "Score", "Variance of a row’s scores", "Expected", "Largest weight", "Entropy, bits",
        "Saturated rows", "Gradient at q, median", "Gradient at q, mean",
    )  # fmt: skip
    rows = [
        (
            KINDS[row["score"]], f"{row['variance']:.3g}", f"{row['expected']:.3g}",
            f"{row['largest']:.2f}", f"{row['entropy']:.2f}", f"{100 * row['saturated']:.0f}%",
            f"{row['gradient']:.2g}", f"{row['gradient_mean']:.2g}",
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    tables.show(f"{N_ROWS} random queries over {N_KEYS} keys each, d_k {d_k}", columns, rows)
    by_score = table.set_index("score")
    saturated, dot = by_score["saturated"], by_score.loc["dot"]
    if dot["gradient"] < dot["gradient_mean"] / 2:
        gradients = (
            "The mean gradient of q·k does not show it: a few rows where two keys have nearly "
            "equal scores have very large gradients, so the median is far below the mean."
        )
    else:
        gradients = "The median gradient of q·k has not vanished at this d_k."
    st.markdown(
        f"At d_k = {d_k} the softmax of **q·k** is saturated in **{100 * saturated['dot']:.0f}%** "
        f"of the rows, that of **q·k / √d_k** in **{100 * saturated['scaled_dot']:.0f}%**. "
        f"{gradients} Additive scores are bounded by Σ|v|, about √d_k / 2 in a new layer; but its "
        "small v also makes the weights nearly uniform and the gradients small."
    )
    st.caption(
        "Saturated: the norm of the Jacobian of the softmax, diag(w) − w wᵀ, is below "
        f"{SATURATION_THRESHOLD:g}. For two equal weights it is 0.5. Expected: the "
        "closed form of the variance, with E|q|² = d_k."
    )


def _curves(d_k: int) -> None:
    look_for(
        "For q·k the variance of the scores grows with d_k and the largest weight approaches 1; "
        "beyond d_k = 64 the median gradient vanishes. Divided by √d_k, little of this depends on "
        "d_k."
    )
    table = _cached_measurements(WIDTHS, CURVE_SEED)
    names = {str(kind): name for kind, name in KINDS.items()}
    quantities: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("variance", "variance of a row’s scores", {"expected": "expected"}),
        ("largest", "largest weight, mean", {"log": False}),
        ("gradient", "gradient at q, median", {"band": ("gradient_low", "gradient_high")}),
    )
    for column, (name, title, options) in zip(st.columns(3), quantities, strict=True):
        with column:
            figure = _against_width(
                table, name, names, title, marked_d_k=d_k, dark=dark(), **options
            )
            figure.update_layout(height=360)
            if name == "gradient":  # smaller values are rounding errors
                figure.update_yaxes(range=[-5, 1])
            chart(figure, f"width-{name}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Crosses: closed form. Shaded: from the first to the third quartile of the rows."
        )
        tables.csv("These numbers (.csv)", lambda: table, "scores-by-width")


@cached("Sampling and measuring …")
def _cached_measurements(widths: tuple[int, ...], seed: int) -> pd.DataFrame:
    return score_scale.measure(widths, seed=seed)


@cached()
def _cached_samples(d_k: int, seed: int) -> Mapping[Score, ScoreSample]:
    return score_scale.draw(d_k, rows=1, seed=seed)
