"""Positions that a model learned, beside the paper's sinusoids."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis import positions
from transformer.figures.positions import Curve, lines, table
from transformer.ui import state
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.remembered import remembered
from transformer.ui.models import Model
from transformer.ui.positions import SIDES, Positions, position_models
from transformer.ui.positions.position_models import PositionModel
from transformer.ui.positions.sides import side

MOST = 96
"""Positions of a learned table that are drawn."""


def show(model: Model) -> None:
    """The learned vectors of a checkpoint, what they have of sinusoids, and what not."""
    st.markdown(
        "Must it be sines? The paper also **learned** one vector for each place, and translations "
        "were nearly as good (Table 3, row E). But a learned vector knows only the places it met."
    )
    there = [one for one in position_models.learners() if one.positions == "learned"]
    if not there:
        st.info("No model here has learned positions yet. Train one, and look again.")
        position_models.offer()
        return
    chosen = _choose(there, model)
    which = side()
    values = _vectors(chosen, which)
    rows = len(values)
    met = min(chosen.places or rows, rows)
    _tables(values, met)
    if met < 6:
        st.info(f"It met only {met} places; the rest of this page needs 6 or more.")
        return
    _alike(values, met)
    _fit(values[:met])


@remembered()
def _vectors(chosen: PositionModel, which: str) -> np.ndarray:
    model = chosen.translator.model
    return positions.table(model, which, min(MOST, model.config.max_len))


def _choose(there: list[PositionModel], model: Model) -> PositionModel:
    """The one of the address, the page's own model if it has learned positions, or the first."""
    by_name = {one.name: one for one in there}
    if state.view(Positions).learned not in by_name:
        state.normalise(learned=model.name if model.name in by_name else there[0].name)
    if len(there) > 1:
        st.selectbox(
            options=list(by_name),
            format_func=lambda name: by_name[name].label if name in by_name else name,
            **state.bound("learned"),
        )
    return by_name[state.view(Positions).learned]


def _tables(values: np.ndarray, met: int) -> None:
    rows, width = values.shape
    labels = [f"{at}" if at < met else f"{at} never met" for at in range(rows)]
    names = [label if rows <= 40 or at % 8 == 0 else "" for at, label in enumerate(labels)]
    left, right = st.columns(2)
    sines = positions.sinusoidal(rows, width)
    for column, title, numbers in ((left, "Learned", values), (right, "Sinusoids", sines)):
        with column:
            chart(
                table(
                    numbers,
                    names,
                    down="position",
                    across="dimension",
                    what="added",
                    title=title,
                    dark=dark(),
                ),
                f"positions-learned-{title}",
            )
    if met < rows:
        st.caption(
            f"Training met places 0 to {met - 1}. The rows below never moved: they are the random "
            "numbers that the model began with. Past the last row there is nothing at all, while a "
            "sinusoid can be computed anywhere."
        )


def _alike(values: np.ndarray, met: int) -> None:
    st.markdown("**Are near places alike?** The cosine of two places, by their distance")
    k = np.arange(met)
    curves = []
    sines = positions.sinusoidal(met, values.shape[1])
    for name, rows in (("learned", values[:met]), ("sinusoids", sines)):
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        found = positions.distances(unit, met - 1)
        low, high = found["least"].to_numpy(), found["most"].to_numpy()
        curves.append(Curve(name, k, found["mean"].to_numpy(), low=low, high=high))
    chart(
        lines(curves, across="distance k (places)", down="cosine", dark=dark()),
        "positions-learned-alike",
    )
    st.caption(
        "The band is from the least to the greatest over all pairs that far apart. Nothing made "
        "learned places depend on the distance alone; whatever of that there is, they found."
    )


def _fit(values: np.ndarray) -> None:
    st.markdown(
        "**Did it find waves?** Each learned dimension beside its nearest sinusoid: how much of it "
        "does the sinusoid explain (R²)?"
    )
    noise = positions.noise_like(values)
    curves = []
    medians = {}
    share = np.linspace(0, 1, values.shape[1])
    for name, rows in (("learned", values), ("random numbers", noise)):
        r2 = np.sort(positions.sinusoid_fit(rows).r2)
        medians[name] = float(np.median(r2))
        curves.append(Curve(name, share, r2))
    chart(
        lines(
            curves, across="share of the dimensions", down="R² or less", percent=True, dark=dark()
        ),
        "positions-learned-fit",
    )
    st.caption(
        f"Median {medians['learned']:.0%}, of random numbers {medians['random numbers']:.0%}: a "
        f"sinusoid has four free numbers (size, phase, wavelength, mean), and {len(values)} places "
        "are few. Only what lies above the random line is a wave that was learned. "
        f"{' and '.join(SIDES.values())} have tables of their own."
    )
