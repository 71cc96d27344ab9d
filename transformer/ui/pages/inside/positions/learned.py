"""Learned positions, compared with sinusoids, and no positions at all."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis import positions
from transformer.figures.positions import Curve, lines, table
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.positions import position_models
from transformer.ui.pages.inside.positions.position_models import PositionModel
from transformer.ui.pages.inside.positions.sides import side
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark

MAX_POSITIONS = 96
"""Maximum number of rows of a learned table in the figure."""


def show(model: Model) -> None:
    """Draw the learned vectors of a checkpoint, and the translations without any positions."""
    _learned(model)
    if not model.description.kind:
        _none(model)


def _learned(model: Model) -> None:
    """Draw the learned vectors of a checkpoint and how similar they are to sinusoids."""
    st.markdown(
        "The paper also tried **learned** vectors, one for each position, with nearly the same "
        "BLEU (Table 3, row E). But training only updates the positions that occur in it."
    )
    candidates = [
        candidate for candidate in position_models.list_models() if candidate.positions == "learned"
    ]
    if not candidates:
        st.info("No model here has learned positions yet. Train one on the page Train.")
        frame.page_link("pages/train.py", "Train a model with learned positions →", run="")
        return
    selected = _model_choice(candidates, model)
    stack_side = side()
    values = _vectors(selected, stack_side)
    rows = len(values)
    n_trained = min(selected.trained_positions or rows, rows)
    _tables(values, n_trained)
    _similarity_chart(values, n_trained)


@cached()
def _vectors(selected: PositionModel, stack_side: str) -> np.ndarray:
    model = selected.translator.model
    return positions.table(model, stack_side, min(MAX_POSITIONS, model.config.max_len))


def _model_choice(candidates: list[PositionModel], model: Model) -> PositionModel:
    """Return the address's model, else the page's model if it is a candidate, else the first."""
    by_name = {candidate.name: candidate for candidate in candidates}
    if state.view(Inside).learned not in by_name:
        state.set_fields(learned=model.name if model.name in by_name else candidates[0].name)
    if len(candidates) > 1:
        st.selectbox(
            options=list(by_name),
            format_func=lambda name: by_name[name].label if name in by_name else name,
            **state.bound("learned"),
        )
    else:
        st.caption(f"Model: {frame.plain(candidates[0].label)}")
    return by_name[state.view(Inside).learned]


def _tables(values: np.ndarray, n_trained: int) -> None:
    rows, width = values.shape
    labels = [
        display_names.number(position)
        if position < n_trained
        else f"{display_names.number(position)} untrained"
        for position in range(rows)
    ]
    names = [
        label if rows <= 40 or position % 8 == 0 else "" for position, label in enumerate(labels)
    ]
    left_column, right_column = st.columns(2)
    sines = positions.sinusoidal(rows, width)
    for column, title, numbers in (
        (left_column, "Learned", values),
        (right_column, "Sinusoids", sines),
    ):
        with column:
            chart(
                table(
                    numbers,
                    names,
                    y_title="position",
                    x_title="dimension",
                    quantity="added",
                    title=title,
                    dark=dark(),
                ),
                f"positions-learned-{title}",
            )
    if n_trained < rows:
        st.caption(
            f"Training used the first {n_trained} positions. The rows below them are still the "
            "random initial values. Beyond the last row there is no vector, while a sinusoid can "
            "be computed for any position."
        )


def _similarity(name: str, vectors: np.ndarray) -> Curve:
    """Return the mean cosine similarity of positions by distance, with minimum and maximum."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    by_distance = positions.dot_product_statistics(unit, len(vectors) - 1)
    low, high = by_distance["least"].to_numpy(), by_distance["most"].to_numpy()
    return Curve(name, np.arange(len(vectors)), by_distance["mean"].to_numpy(), low=low, high=high)


def _similarity_chart(values: np.ndarray, n_trained: int) -> None:
    st.markdown("**Are near positions similar?** Cosine similarity of two positions by distance")
    sines = positions.sinusoidal(n_trained, values.shape[1])
    curves = [_similarity("learned", values[:n_trained]), _similarity("sinusoids", sines)]
    chart(
        lines(curves, x_title="distance k (positions)", y_title="cosine similarity", dark=dark()),
        "positions-learned-similarity",
    )
    st.caption(
        "The band shows the minimum and maximum over all pairs at that distance. Nothing forces "
        "learned positions to depend on the distance alone."
    )


def _none(model: Model) -> None:
    """Draw the translations of two orders of the same words, with source positions and without."""
    st.header("No positions")
    effect = _cached_reordering(model)
    st.markdown(
        "Attention alone ignores order. Without positions in the encoder, its outputs for the same "
        f"words in another order differ by at most {effect.max_differences['without']:.1g}, a "
        f"rounding error; with positions by up to {effect.max_differences['with']:.1f}."
    )
    columns = ["Source", "With positions", "Without source positions"]
    rows = zip(
        positions.ORDER_PAIR,
        effect.translations["with"],
        effect.translations["without"],
        strict=True,
    )
    tables.show(
        "Translations of the same words in two orders", columns, [*map(list, rows)], words=True
    )


@cached("Reading both sentences …")
def _cached_reordering(model: Model) -> positions.ReorderingEffect:
    return positions.reordering_effect(model.translator, *positions.ORDER_PAIR)
