"""Training methods: learning rate, dropout and label smoothing (sections 5.3 and 5.4)."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.inside.learning import (
    N_MASKS,
    DropoutResult,
    SmoothingResult,
    apply_dropout,
    smooth_target,
)
from transformer.figures.bars import grouped_bars
from transformer.figures.positions import Curve, lines, table
from transformer.figures.trainer_page import WARMUP_RACE
from transformer.inference import Trace
from transformer.measures import naming
from transformer.training.schedule import paper_rate, rate_curves
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.figure import stops
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark

SHOWN_DIMENSIONS = 96
"""Number of vector dimensions in the figure, enough to see which are dropped."""
SHOWN_TOKENS = 8
MIN_PROBABILITY = 1e-6
"""Smaller probabilities are drawn at this value: a bar for 0 has no end on a logarithmic axis."""
BASE_MODEL = (512, 4000)
"""d_model and warm-up of the paper's base model."""
_WIDTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_WARMUPS = (100, 200, 400, 1000, 2000, 4000, 8000, 16000)


def show(model: Model) -> None:
    cached_trace = trace_cache.read(model, state.view(Inside))
    st.markdown(
        "The other sections show a trained model. Three methods of the paper shape its training: "
        "the learning rate schedule, dropout and label smoothing."
    )
    _learning_rate()
    layer = min(max(state.view(Inside).layer, 0), model.n_layers - 1)
    trace = stops.trace(model, cached_trace, layer)
    _dropout(model, trace, layer)
    _smoothing(model, trace)


def _learning_rate() -> None:
    st.header("Learning rate schedule")
    st.latex(
        r"\mathrm{lrate} = d_{model}^{-0.5} \cdot \min\big(step^{-0.5},\ "
        r"step \cdot warmup^{-1.5}\big)"
    )
    view, picture = state.view(Inside), st.container()
    left_column, right_column = st.columns(2)
    left_column.select_slider(options=sorted({*_WIDTHS, view.d_model}), **state.bound("d_model"))
    right_column.select_slider(
        options=sorted({*_WARMUPS, view.warmup}),
        format_func=lambda value: f"{value:,}",
        **state.bound("warmup"),
    )
    width, step = view.d_model, view.warmup
    steps, rate, rising, falling = rate_curves(width, step)
    curves = [
        Curve("learning rate", steps, rate),
        Curve("rising: step · warmup^−1.5", steps, rising),
        Curve("falling: step^−0.5", steps, falling),
    ]
    peak = paper_rate(step, width, step)
    figure = lines(curves, x_title="step", y_title="learning rate",
                   marked_x=(step, f"peak {peak:.3g} at step {step:,}"), dark=dark())  # fmt: skip
    figure.update_yaxes(range=[0, 1.5 * peak], exponentformat="power")
    figure.update_annotations(y=0.02, yanchor="bottom")  # below the three curves
    with picture:
        chart(figure, "learning-rate")
    st.markdown(
        "The two parts of the minimum meet at step = warmup, where the rate is "
        f"$(d_{{model}} \\cdot warmup)^{{-0.5}}$ = **{peak:.3g}**. It rises linearly before and "
        f"falls afterwards: at step {steps[-1]:,}, four times the warm-up, it is half the "
        f"peak, {rate[-1]:.3g}. The wider the model, the lower the rate."
    )
    base_width, base_warmup = BASE_MODEL
    base = paper_rate(base_warmup, base_width, base_warmup)
    st.caption(
        f"Section 5.3, equation 3. The paper’s base model, d_model {base_width} and "
        f"{base_warmup:,} steps of warm-up, has a peak of {base:.3g}. You can set the peak on "
        "the Train page."
    )
    frame.page_link(
        "pages/train.py", "Does warm-up help? Compare two runs →", here=WARMUP_RACE, run=""
    )


def _dropout(model: Model, trace: Trace, layer: int) -> None:
    st.header("Dropout")
    st.latex(r"y = \mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{FFN}(x))\big)")
    view = state.view(Inside)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = _position_choice("Token", trace.src_tokens, "column", "learning-source")
        st.slider(step=0.05, width=260, **state.bound_number("dropout"))
        frame.state_button("New dropout mask", "casino", {"seed": view.seed % 999 + 1})
    sublayer = f"encoder.layers.{layer}.ffn"
    result = apply_dropout(
        model.translator.model, trace, sublayer, row, p=view.dropout, seed=view.seed
    )
    rows = {
        "FFN(x)": result.sublayer_output,
        "Dropout(FFN(x))": np.where(result.mask == 0, np.nan, result.dropped),
        "change of y": result.normed_dropped - result.normed,
    }
    figure = table(
        np.stack([values[:SHOWN_DIMENSIONS] for values in rows.values()]), list(rows),
        y_title="row", x_title="dimension", quantity="value", dark=dark(),
    )  # fmt: skip
    figure.update_traces(
        x=[1 + dimension for dimension in range(SHOWN_DIMENSIONS)][: len(result.sublayer_output)]
    )
    figure.update_layout(margin={"l": 150})
    chart(figure, "learning-dropout")
    st.markdown(_dropout_summary(result, view.dropout))
    st.caption(
        "Section 5.4: dropout is applied to the output of each sublayer, before the residual is "
        "added, and to the sums of embedding and position, with P_drop = 0.1 in the base model. "
        f"Shown: encoder, {naming.layer_name(layer)}, the first "
        f"{min(SHOWN_DIMENSIONS, len(result.sublayer_output))} of {len(result.sublayer_output)} "
        "dimensions; dropped ones are empty. A trained "
        "model uses no dropout."
    )


def _dropout_summary(result: DropoutResult, probability: float) -> str:
    if probability == 0:
        return "Nothing is dropped, so nothing changes."
    return (
        f"**{result.count} of {len(result.sublayer_output)}** numbers are dropped, each with "
        f"probability {probability:g}. The others are multiplied by {result.mask.max():.3f}, which "
        f"keeps the expected value: the mean over {N_MASKS} masks differs from the network's "
        f"output by {100 * result.mean_difference:.1f}% of its norm. The residual x is not "
        "dropped, so the output y changes little: its cosine similarity with the output without "
        f"dropout is {result.cosine:.3f}. Dropout prevents units from relying on each other."
    )


def _smoothing(model: Model, trace: Trace) -> None:
    st.header("Label smoothing")
    st.latex(r"q(k) = (1 - \varepsilon)\,[k = y_t] + \varepsilon / V,\qquad "
             r"\mathcal{L} = -\textstyle\sum_k q(k) \ln P(k)")  # fmt: skip
    view = state.view(Inside)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = _position_choice("Target after", trace.tgt_tokens, "row", "learning-target")
        st.slider(step=0.05, width=260, **state.bound_number("smoothing"))
    result = smooth_target(trace, row, smoothing=view.smoothing)
    most_probable = [
        int(token_id)
        for token_id in np.argsort(-result.probabilities)[:SHOWN_TOKENS]
        if token_id != result.gold
    ]
    ids = [result.gold, *most_probable[: SHOWN_TOKENS - 1]]
    names = list(map(display_names.piece, model.translator.vocabulary.tokens(ids)))
    groups = {"smoothed target": result.target[ids], "model": result.probabilities[ids]}
    figure = grouped_bars(
        {name: np.maximum(shares, MIN_PROBABILITY) for name, shares in groups.items()},
        names, x_title="token", y_title="probability", dark=dark(),
    )  # fmt: skip
    figure.update_traces(hovertemplate="%{y:.3~g}<extra>%{fullData.name}</extra>")
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, range=[-6, 0.1])
    chart(figure, "learning-smoothing")
    st.html(_losses(result, names[0]))
    vocabulary = len(result.probabilities)
    st.markdown(
        f"Each of the {vocabulary:,} tokens of the vocabulary gets a target probability of at "
        f"least ε / V = {view.smoothing / vocabulary:.6f}. The loss cannot fall below the entropy "
        f"of this target, **{result.min_loss:.3f}**, and overconfidence is penalised: if the "
        "correct token had a probability of 1 − 10⁻⁶ and the others shared the rest equally, the "
        f"loss would be {result.confident_loss:.3f}. "
        "The paper reports that this hurts perplexity but improves BLEU."
    )
    st.caption(
        f"The paper uses ε = 0.1 (section 5.4). The correct token, {frame.plain(names[0])}, comes "
        "first, then the most probable others. As in this app's training, the correct token also "
        "gets its share of ε."
    )


def _losses(result: SmoothingResult, correct_token: str) -> str:
    share = f"{100 * result.probabilities[result.gold]:.2f}%"
    rows = [
        ["without smoothing, −ln P", f"{result.plain_loss:.4f}", "0"],
        [f"with ε = {result.smoothing:g}", f"{result.loss:.4f}", f"{result.min_loss:.4f}"],
    ]
    caption = f"Loss at this position in nats; the model gives {correct_token} {share}"
    return tables.html(caption, ["", "loss", "minimum"], rows)


def _position_choice(label: str, tokens: tuple[str, ...], field: str, key: str) -> int:
    """Draw a menu of positions, stored in a field of the view; by default the middle one."""
    stored = getattr(state.view(Inside), field)
    position = stored if 0 <= stored < len(tokens) else len(tokens) // 2
    names, number = display_names.tokens(tokens), display_names.number
    st.selectbox(
        label,
        range(len(tokens)),
        format_func=lambda index: f"{number(index)}: {names[index]}",
        width=240,
        **controlled(key, position, lambda index: state.change(**{field: index})),
    )
    return position
