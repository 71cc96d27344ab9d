"""Forward and backward time of the four layers, measured on this server on request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from transformer.analysis.table1.complexity import TABLE_1
from transformer.analysis.table1.timing import FITTED, LENGTHS, PASSES, Slope, Timing, frame, slopes
from transformer.figures.complexity import Law, laws
from transformer.jobs import Computation, ComputationStatus
from transformer.jobs.computation import timing_computation
from transformer.ui import state
from transformer.ui.pages.why.sizes import NAMES, PLACES, see, sliders
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame as page
from transformer.ui.widgets import tables
from transformer.ui.widgets.callbacks import show_refusal
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import REFUSAL, cancel, progress, submit
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

WIDEST = 512
"""d that is measured at most."""
SHORT = 1024
"""Length that a measurement should reach."""
EXPECTED = {"self-attention": 2, "recurrent": 1, "convolutional": 1, "restricted": 1}
"""Powers of n in Table 1."""


def show() -> None:
    page.lead_text(
        "Do measured times agree with the formulas? This page times the forward and backward pass "
        "of one layer for increasing sequence lengths. On logarithmic axes a power of n is a "
        "straight line whose slope is the exponent."
    )
    owner = visitor.ensure_id()
    view = sliders("d", "k", "r")
    d = min(view.d, WIDEST)
    if view.d > WIDEST:
        st.caption(f"Values above d = {WIDEST} take too long; the measurement uses d = {WIDEST}.")
    what = timing_computation(d, view.k, view.r)
    live = computation_service().status(what.key).live
    fragment(_watched, "timing-watched", POLL_SECONDS if live else None)(what, owner, live)


def _watched(what: Computation, owner: str, live: bool) -> None:
    """What changes while it is measured; the whole page anew when it begins or ends."""
    now = computation_service().status(what.key, owner)
    if now.live != live:
        state.rerun_page()
    _controls(what, owner, now)
    found = computation_service().result(what.key) if now.status == "done" else now.so_far
    timings = [Timing(**one) for one in found.get("timings", [])]
    if not timings:
        if not now.live:
            st.info(
                "There is no measurement for these sizes yet. Click **Measure**; it takes about 20 "
                "seconds of one core and is stored for all visitors. For a clear n², choose a "
                "small d. Until then, the prediction of Table 1:"
            )
            see(
                "The steeper a line, the faster the cost grows with the length; where two lines "
                "cross, the layers cost the same."
            )
            chart(_foretold(what.arguments), "timing-foretold")
        return
    if not now.live and max(one.n for one in timings) < SHORT:
        st.caption("The machine was busy, so only short sequences were measured. Measure again.")
    fitted = slopes(timings)
    see(
        "Marks are measured; lines are fitted to the long sequences. The steeper a line, the "
        "faster the time grows with the length. A high mark on the left means a high fixed cost."
    )
    for way, column in zip(PASSES[:2], st.columns(2), strict=True):
        with column:
            st.markdown(f"**{way.capitalize()} pass**")
            chart(_figure(timings, fitted, way), f"timing-{way}")
    _table(fitted)
    _all(timings)


def _controls(what: Computation, owner: str, now: ComputationStatus) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if not now.live:
            st.button(
                "Measure" if now.status == "absent" else "Measure again",
                key="measure",
                type="primary" if now.status == "absent" else "secondary",
                icon=":material/timer:",
                on_click=submit,
                args=(what, True),
            )
        elif now.is_requester:
            cancel(now, owner, "Stop")
    if now.live:
        progress(now)
    if now.status == "failed":
        st.warning(page.plain(f"The measurement failed: {now.reason}."))
    if now.status == "stopped":
        st.caption("The measurement was stopped, so the slopes use fewer lengths.")
    show_refusal(REFUSAL)


def _foretold(sizes: Mapping[str, Any]) -> object:
    """Table 1's complexity per layer at these sizes, over the lengths that would be measured."""
    d, k, r = (int(sizes[name]) for name in ("d", "k", "r"))
    drawn = [
        Law(NAMES[name], PLACES[name], LENGTHS, [TABLE_1[name].cost(n, d, k, r) for n in LENGTHS])
        for name in EXPECTED
    ]
    across, down = "n, length of the sequence", "multiplications, by formula"
    return laws(drawn, across=across, down=down, dark=dark())


def _figure(timings: list[Timing], fitted: dict[str, dict[str, Slope]], way: str) -> object:
    drawn = []
    for name in EXPECTED:
        seen = [one for one in timings if one.layer == name]
        law = fitted[name][way]
        long = [one.n for one in seen if one.n >= FITTED]
        if len(long) > 1:
            middle = np.mean([np.log(getattr(one, way)) for one in seen if one.n >= FITTED])
            line = [
                float(1e3 * np.exp(middle + law.slope * (np.log(n) - np.mean(np.log(long)))))
                for n in long
            ]
        else:
            long, line = [], []
        lengths, times = [one.n for one in seen], [1e3 * getattr(one, way) for one in seen]
        drawn.append(Law(NAMES[name], PLACES[name], long, line, lengths, times))
    return laws(
        drawn,
        across="n, length of the sequence",
        down=f"{way}, milliseconds",
        unit=" ms",
        dark=dark(),
    )


def _table(fitted: dict[str, dict[str, Slope]]) -> None:
    rows = []
    for name, power in EXPECTED.items():
        law = fitted[name]
        written = [_written(law[way]) for way in PASSES[:2]]
        counted = law["products"].slope
        rows.append([NAMES[name], str(power), "–" if math.isnan(counted) else f"{counted:.2f}",
                     *written, str(law["forward"].lengths)])  # fmt: skip
    heads = ["Layer", "Table 1", "Multiplications", "Forward", "Backward", "Lengths"]
    about = f"Slopes: the power of n, fitted from n = {FITTED} on, ± its standard error"
    tables.show(about, heads, rows)
    st.caption(
        "*Multiplications* is the slope of the number of multiplications in one forward pass, "
        "including projections; for self-attention it approaches 2 only if n is much larger than "
        "d. Times grow more slowly where calling an operation costs more than computing it. The "
        "recurrent layer multiplies less than either attention but takes longer except for very "
        "long sequences, because its n steps run one after another."
    )


def _written(law: Slope) -> str:
    if math.isnan(law.slope):
        return "too few lengths"
    return f"{law.slope:.2f}" + (f" ± {law.error:.2f}" if not math.isnan(law.error) else "")


def _all(timings: list[Timing]) -> None:
    table = frame(timings)
    with st.expander("Every measurement"):
        heads = ["Layer", "n", "Forward", "Backward", "Multiplications", "Passes"]
        rows = [[NAMES[one.layer], f"{one.n:,}", f"{1e3 * one.forward:.3g} ms",
                 f"{1e3 * one.backward:.3g} ms", f"{one.products:,}", str(one.runs)]
                for one in timings]  # fmt: skip
        tables.show("Medians, in CPU time of one core", heads, rows)
        tables.csv("Table (CSV)", lambda: table, "layers")
        st.caption("From a terminal: `python -m benchmarks.layers`")
