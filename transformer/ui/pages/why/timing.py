"""Forward and backward time of the four layers, measured on this server on request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from transformer.analysis.table1.complexity import TABLE_1
from transformer.analysis.table1.timing import (
    LENGTHS,
    MIN_FITTED_LENGTH,
    PASSES,
    Slope,
    Timing,
    slopes,
    timing_table,
)
from transformer.figures.complexity import Law, law_lines
from transformer.jobs import Computation, ComputationStatus
from transformer.jobs.computation import timing_computation
from transformer.ui import state
from transformer.ui.pages.why.sizes import COLOUR_INDEX, NAMES, look_for, sliders
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.callbacks import show_refusal
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import REFUSAL_NAME, cancel, progress, submit
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

MAX_D = 512
"""Largest d that is measured."""
MIN_LENGTH = 1024
"""Sequence length that a complete measurement reaches."""
EXPECTED_EXPONENTS = {"self-attention": 2, "recurrent": 1, "convolutional": 1, "restricted": 1}
"""Exponent of n in Table 1 by layer."""


def show() -> None:
    frame.lead_text(
        "Do measured times agree with the formulas? This page times the forward and backward pass "
        "of one layer for increasing sequence lengths. On logarithmic axes a power of n is a "
        "straight line whose slope is the exponent."
    )
    owner = visitor.ensure_id()
    view = sliders("d", "k", "r")
    d = min(view.d, MAX_D)
    if view.d > MAX_D:
        st.caption(f"Values above d = {MAX_D} take too long; the measurement uses d = {MAX_D}.")
    computation = timing_computation(d, view.k, view.r)
    live = computation_service().status(computation.key).live
    fragment(_watch, "timing-watched", POLL_SECONDS if live else None)(computation, owner, live)


def _watch(computation: Computation, owner: str, live: bool) -> None:
    """Draw what changes during a measurement; rerun the page when it starts or ends."""
    status = computation_service().status(computation.key, owner)
    if status.live != live:
        state.rerun_page()
    _controls(computation, owner, status)
    result = (
        computation_service().result(computation.key) if status.status == "done" else status.so_far
    )
    timings = [Timing(**timing) for timing in result.get("timings", [])]
    if not timings:
        if not status.live:
            st.info(
                "There is no measurement for these sizes yet. Click **Measure**; it takes about 20 "
                "seconds of one core and is stored for all visitors. For a clear n², choose a "
                "small d. Until then, the prediction of Table 1:"
            )
            look_for(
                "The steeper a line, the faster the cost grows with the length; where two lines "
                "cross, the layers cost the same."
            )
            chart(_predicted_figure(computation.arguments), "timing-foretold")
        return
    if not status.live and max(timing.n for timing in timings) < MIN_LENGTH:
        st.caption("The machine was busy, so only short sequences were measured. Measure again.")
    fits = slopes(timings)
    look_for(
        "Marks are measured; lines are fitted to the long sequences. The steeper a line, the "
        "faster the time grows with the length. A high mark on the left means a high fixed cost."
    )
    for direction, column in zip(PASSES[:2], st.columns(2), strict=True):
        with column:
            st.markdown(f"**{direction.capitalize()} pass**")
            chart(_figure(timings, fits, direction), f"timing-{direction}")
    _table(fits)
    _all_measurements(timings)


def _controls(computation: Computation, owner: str, status: ComputationStatus) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if not status.live:
            st.button(
                "Measure" if status.status == "absent" else "Measure again",
                key="measure",
                type="primary" if status.status == "absent" else "secondary",
                icon=":material/timer:",
                on_click=submit,
                args=(computation, True),
            )
        elif status.is_requester:
            cancel(status, owner, "Stop")
    if status.live:
        progress(status)
    if status.status == "failed":
        st.warning(frame.plain(f"The measurement failed: {status.reason}."))
    if status.status == "stopped":
        st.caption("The measurement was stopped, so the slopes use fewer lengths.")
    show_refusal(REFUSAL_NAME)


def _predicted_figure(sizes: Mapping[str, Any]) -> object:
    """Return a figure of Table 1's complexity per layer over the lengths to be measured."""
    d, k, r = (int(sizes[name]) for name in ("d", "k", "r"))
    laws = [
        Law(
            NAMES[name],
            COLOUR_INDEX[name],
            LENGTHS,
            [TABLE_1[name].cost(n, d, k, r) for n in LENGTHS],
        )
        for name in EXPECTED_EXPONENTS
    ]
    x_title, y_title = "n, sequence length", "multiplications, by formula"
    return law_lines(laws, x_title=x_title, y_title=y_title, dark=dark())


def _figure(timings: list[Timing], fits: dict[str, dict[str, Slope]], direction: str) -> object:
    laws = []
    for name in EXPECTED_EXPONENTS:
        layer_timings = [timing for timing in timings if timing.layer == name]
        fit = fits[name][direction]
        fitted_lengths = [timing.n for timing in layer_timings if timing.n >= MIN_FITTED_LENGTH]
        if len(fitted_lengths) > 1:
            mean_log_time = np.mean(
                [
                    np.log(getattr(timing, direction))
                    for timing in layer_timings
                    if timing.n >= MIN_FITTED_LENGTH
                ]
            )
            line = [
                float(
                    1e3
                    * np.exp(
                        mean_log_time + fit.slope * (np.log(n) - np.mean(np.log(fitted_lengths)))
                    )
                )
                for n in fitted_lengths
            ]
        else:
            fitted_lengths, line = [], []
        lengths, times = (
            [timing.n for timing in layer_timings],
            [1e3 * getattr(timing, direction) for timing in layer_timings],
        )
        laws.append(Law(NAMES[name], COLOUR_INDEX[name], fitted_lengths, line, lengths, times))
    return law_lines(
        laws,
        x_title="n, sequence length",
        y_title=f"{direction}, milliseconds",
        unit=" ms",
        dark=dark(),
    )


def _table(fits: dict[str, dict[str, Slope]]) -> None:
    rows = []
    for name, exponent in EXPECTED_EXPONENTS.items():
        fit = fits[name]
        exponents = [_exponent_text(fit[direction]) for direction in PASSES[:2]]
        multiplications = fit["products"].slope
        rows.append([NAMES[name], str(exponent),
                     "–" if math.isnan(multiplications) else f"{multiplications:.2f}",
                     *exponents, str(fit["forward"].lengths)])  # fmt: skip
    columns = ["Layer", "Table 1", "Multiplications", "Forward", "Backward", "Lengths"]
    caption = (
        f"Slopes: the power of n, fitted from n = {MIN_FITTED_LENGTH} on, ± its standard error"
    )
    tables.show(caption, columns, rows)
    st.caption(
        "*Multiplications* is the slope of the number of multiplications in one forward pass, "
        "including projections; for self-attention it approaches 2 only if n is much larger than "
        "d. Times grow more slowly where calling an operation costs more than computing it. The "
        "recurrent layer multiplies less than either attention but takes longer except for very "
        "long sequences, because its n steps run one after another."
    )


def _exponent_text(fit: Slope) -> str:
    if math.isnan(fit.slope):
        return "too few lengths"
    return f"{fit.slope:.2f}" + (f" ± {fit.error:.2f}" if not math.isnan(fit.error) else "")


def _all_measurements(timings: list[Timing]) -> None:
    table = timing_table(timings)
    with st.expander("Every measurement"):
        columns = ["Layer", "n", "Forward", "Backward", "Multiplications", "Passes"]
        rows = [[NAMES[timing.layer], f"{timing.n:,}", f"{1e3 * timing.forward:.3g} ms",
                 f"{1e3 * timing.backward:.3g} ms", f"{timing.products:,}", str(timing.runs)]
                for timing in timings]  # fmt: skip
        tables.show("Medians, in CPU time of one core", columns, rows)
        tables.csv("Table (CSV)", lambda: table, "layers")
