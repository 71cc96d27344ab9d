"""How it learns: learning rate, dropout on one row, a smoothed target (sections 5.3 and 5.4)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from transformer.analysis.inside.learning import MANY, Dropped, Smoothed, dropped, smoothed
from transformer.figures.positions import Curve, lines, table
from transformer.figures.results import two_distributions
from transformer.inference import Trace
from transformer.training.schedule import Rates, rates
from transformer.ui import frame, state, trace_cache
from transformer.ui.inside import Inside, stops
from transformer.ui.kit import tables
from transformer.ui.kit.callbacks import follows
from transformer.ui.kit.charts import chart, dark
from transformer.ui.models import Model

DIMENSIONS = 96
"""Dimensions of a row that are drawn: enough to see which are gone."""
TOKENS = 8
BASE = (512, 4000)
"""d_model and warm-up of the paper's base model."""
_WIDTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_WARMUPS = (100, 200, 400, 1000, 2000, 4000, 8000, 16000)


def show(model: Model) -> None:
    reading = trace_cache.read(model, state.view(Inside))
    st.markdown(
        "Everything else on this page is a model that has learned. Three things shape how it does: "
        "how far it steps, what is hidden from it, and how sure it is asked to be."
    )
    _rate()
    layer = min(max(state.view(Inside).layer, 0), model.n_layers - 1)
    trace = stops.trace(model, reading, layer)
    _dropout(model, trace, layer)
    _smoothing(model, trace)


def _rate() -> None:
    st.header("How far it steps")
    st.latex(
        r"\mathrm{lrate} = d_{model}^{-0.5} \cdot \min\left(step^{-0.5},\ "
        r"step \cdot warmup^{-1.5}\right)"
    )
    view = state.view(Inside)
    left, right = st.columns(2)
    left.select_slider(options=sorted({*_WIDTHS, view.d}), **state.bound("d"))
    right.select_slider(
        options=sorted({*_WARMUPS, view.warmup}),
        format_func=lambda value: f"{value:,}",
        **state.bound("warmup"),
    )
    found = _rates(view.d, view.warmup)
    curves = [
        Curve("the rate", found.steps, found.rate),
        Curve("rising: step · warmup^−1.5", found.steps, found.rising),
        Curve("falling: step^−0.5", found.steps, found.falling),
    ]
    step, peak = found.peak
    figure = lines(curves, across="step", down="learning rate",
                   at=(step, f"peak {peak:.2e} at step {step:,}"), dark=dark())  # fmt: skip
    figure.update_yaxes(range=[0, 1.5 * peak], exponentformat="power")
    chart(figure, "learning-rate")
    st.markdown(
        "The two meet at step = warmup, where the rate is $(d_{model} \\cdot warmup)^{-0.5}$ = "
        f"**{peak:.3g}**. Before, it rises in a line; four times as far it has fallen to half: "
        f"{found.rate[-1]:.3g} at step {found.steps[-1]:,}. A wider model steps less far."
    )
    base = _rates(*BASE).peak[1]
    st.caption(
        f"Section 5.3, equation 3. The paper’s base model, d_model {BASE[0]} and {BASE[1]:,} steps "
        f"of warm-up, peaks at {base:.2e}. On the page Train the peak can be set by hand."
    )
    frame.link("pages/train.py", "Does warm-up help? Race it, live →", run="", race="")


@lru_cache(maxsize=64)
def _rates(width: int, warmup: int) -> Rates:
    return rates(width, warmup, 4 * warmup)


def _dropout(model: Model, trace: Trace, layer: int) -> None:
    st.header("What is hidden from it: dropout")
    st.latex(r"y = \mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{FFN}(x))\big)")
    view = state.view(Inside)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = _token("The row of", trace.src_tokens, "column", "learning-source")
        st.slider(step=0.05, width=260, **state.bounded("dropout"))
        frame.turn("Another step of training", "casino", {"seed": view.seed % 999 + 1})
    sublayer = f"encoder.layers.{layer}.ffn"
    found = dropped(model.translator.model, trace, sublayer, row, p=view.dropout, seed=view.seed)
    rows = {
        "FFN(x)": found.said,
        "Dropout(FFN(x))": np.where(found.mask == 0, np.nan, found.dropped),
        "what it changes in y": found.normed_dropped - found.normed,
    }
    figure = table(
        np.stack([values[:DIMENSIONS] for values in rows.values()]), list(rows), down="row",
        across="dimension", what="value", dark=dark(),
    )  # fmt: skip
    figure.update_layout(margin={"l": 150})
    chart(figure, "learning-dropout")
    st.markdown(_hidden(found))
    st.caption(
        f"Section 5.4: on what each sublayer says, before it is added, and on the sums of "
        f"embedding and position; 0.1 in the base model. Encoder, layer {layer}, the first "
        f"{min(DIMENSIONS, len(found.said))} of {len(found.said)} dimensions; empty is dropped. "
        "Our masks have multiples of 1/256 for P_drop. In use nothing is dropped."
    )


def _hidden(found: Dropped) -> str:
    factor = float(found.mask.max())
    if found.probability == 0:
        return "Nothing is dropped: the two rows at the end are the same."
    return (
        f"**{found.count} of {len(found.said)}** numbers are gone, each with probability "
        f"{found.probability:.3f}; the others are {factor:.3f} times as large, so that the sum is "
        f"right on average: the mean of {MANY} masks is within {found.mean_apart:.1%} of what the "
        "network said. What goes around the sublayer, x, is untouched, so what is handed on is "
        f"still alike: its cosine with the whole one is {found.turned:.3f}. No unit can rely on "
        "another to be there."
    )


def _smoothing(model: Model, trace: Trace) -> None:
    st.header("How sure it is asked to be: label smoothing")
    st.latex(r"q(k) = (1 - \varepsilon)\,[k = y_t] + \varepsilon / V,\qquad "
             r"\mathcal{L} = -\textstyle\sum_k q(k) \ln P(k)")  # fmt: skip
    view = state.view(Inside)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = _token("What should come after", trace.tgt_tokens, "row", "learning-target")
        st.slider(step=0.05, width=260, **state.bounded("smoothing"))
    found = smoothed(trace, row, smoothing=view.smoothing)
    best = [int(one) for one in np.argsort(-found.said)[:TOKENS] if one != found.gold]
    ids = [found.gold, *best[: TOKENS - 1]]
    names = model.translator.vocabulary.tokens(ids)
    figure = two_distributions(
        names, found.target[ids].tolist(), found.said[ids].tolist(),
        names=("the smoothed target", "what the model says"), dark=dark(),
    )  # fmt: skip
    chart(figure, "learning-smoothing")
    st.html(_losses(found, names[0]))
    vocabulary = len(found.said)
    st.markdown(
        f"Each of the {vocabulary:,} pieces is asked for with at least ε / V = "
        f"{view.smoothing / vocabulary:.1e}. The loss can then not fall below the entropy of the "
        f"target, **{found.least:.3f}**, and to be sure costs: all but a millionth on the right "
        f"piece would be worth {found.sure:.3f}. The model learns to leave something over; the "
        "paper says that this hurts perplexity and helps BLEU."
    )
    st.caption(
        f"Section 5.4, ε = 0.1 there. The right piece, {frame.plain(names[0])}, comes first, then "
        "the most probable others. As in our training the right piece has its share of ε as well."
    )


def _losses(found: Smoothed, right: str) -> str:
    share = f"{100 * found.said[found.gold]:.2f} %"
    rows = [
        ["without smoothing, −ln P", f"{found.plain_loss:.4f}", "0"],
        [f"with ε = {found.smoothing:g}", f"{found.loss:.4f}", f"{found.least:.4f}"],
    ]
    about = f"The loss of this place, nats; the model gives {right} {share}"
    return tables.html(about, ["", "loss", "the least it can be"], rows)


def _token(label: str, tokens: tuple[str, ...], field: str, key: str) -> int:
    """A position to be chosen, kept in a field of the view; the middle one if none is."""
    chosen = getattr(state.view(Inside), field)
    at = chosen if 0 <= chosen < len(tokens) else len(tokens) // 2
    st.selectbox(
        label,
        range(len(tokens)),
        format_func=lambda place: f"{place}: {tokens[place]}",
        width=240,
        **follows(key, at, lambda place: state.change(**{field: place})),
    )
    return at
