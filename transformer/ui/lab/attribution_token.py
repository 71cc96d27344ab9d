"""One output token: what it was made of by four methods, and how much of it is the source's."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.attribution.token_attribution import (
    METHODS,
    shares,
    source_share,
    token_attribution,
)
from transformer.figures.contributions import answers, source_curve
from transformer.figures.naming import file_name, token_names
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.kit import exact, tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.remembered import remembered
from transformer.ui.lab.attribution_head import opening
from transformer.ui.lab.attribution_texts import TOKENS, explain, piece
from transformer.ui.models import Model

FLOWS = 64
"""Pieces of the longer side: flow of longer sentences takes seconds for one output token."""
CURVE = "moves-curve"


def show(model: Model, trace: Trace) -> None:
    """The chosen output token's bars, the curve over all of them, and the numbers to take away."""
    st.subheader("The whole model: what was this token made of?")
    step = _choose(trace)
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    methods = tuple(name for name in METHODS if name != "flow" or longest <= FLOWS)
    table = _made_of(model, trace, step, methods)
    share = _source_share(model, trace)
    chart(_bars(model, trace, step, methods, dark(), exact.on(), table), "moves-answers")
    st.caption(
        "Above the gap the tokens of the source, below it what had been written so far. Each "
        "column is made to sum to 100 %, drawn to one scale; the numbers as they are stand in the "
        "file below."
    )
    for column, name in zip(st.columns(len(METHODS)), METHODS, strict=True):
        with column:
            explain(TOKENS[name], level=share["rollout"].iloc[0], layers=model.n_layers)
            if name not in methods:
                st.caption(f"Left out here: {longest} pieces, and it takes {FLOWS} at most.")
    _curve(share, _line(model, trace, step, dark(), exact.on(), share))
    _ways_on(model, trace, table, share, step)


def _choose(trace: Trace) -> int:
    tokens = trace.predicted_tokens
    names, called = exact.tokens(tokens), exact.numbering()
    if state.view().step >= len(tokens):
        state.normalise(step=len(tokens) - 1)
    st.selectbox(
        "Output token",
        range(len(tokens)),
        format_func=lambda at: f"{called(at)} · {names[at]}",
        width=260,
        **state.bound("step"),
    )
    step = state.view().step
    read = " ".join(piece(token) for token in trace.tgt_tokens[: step + 1])
    st.markdown(
        f"To write “**{piece(tokens[step])}**” the model had the whole source, and {read} of "
        "its own. Four methods divide the credit among these tokens:"
    )
    return step


@remembered("Asking four methods …")
def _made_of(model: Model, trace: Trace, step: int, methods: tuple[str, ...]) -> pd.DataFrame:
    return token_attribution(model.translator.model, trace, step, methods)


@remembered("Following source and prefix …")
def _source_share(model: Model, trace: Trace) -> pd.DataFrame:
    return source_share(model.translator.model, trace)


# Plotly takes longer to make a figure than all the rest of a rerun.
@remembered()
def _bars(
    model: Model,
    trace: Trace,
    step: int,
    methods: tuple[str, ...],
    dark: bool,
    exactly: bool,
    _table: pd.DataFrame,
) -> Figure:
    found = shares(_table)
    parts = {TOKENS[name].title: found[name].to_numpy() for name in methods}
    source = len(trace.src_tokens)
    tokens = _table["token"].to_list()
    names = [name for part in (tokens[:source], tokens[source:])
             for name in token_names(part, exactly)]  # fmt: skip
    return answers(names, len(trace.src_tokens), parts, dark=dark)


@remembered()
def _line(
    model: Model, trace: Trace, step: int, dark: bool, exactly: bool, _share: pd.DataFrame
) -> Figure:
    tokens = token_names(_share["token"].to_list(), exactly)
    level = float(_share["rollout"].iloc[0])
    return source_curve(tokens, _share["alti"].to_numpy(), level, at=step, dark=dark)


def _curve(share: pd.DataFrame, figure: Figure) -> None:
    st.subheader("How much came from the source?")
    low = share.iloc[[int(share["alti"].to_numpy().argmin())]]
    token, least = str(low["token"].iloc[0]), float(low["alti"].iloc[0])
    st.markdown(
        "A translator listens to the source **and** to what it has just written. ALTI+ weighs the "
        f"two at every output token. Here the source has the least say in "
        f"“**{piece(token)}**”: {least:.0%}."
    )
    chart(figure, CURVE, _picked)
    st.caption("Click a point to ask about that token above.")


def _picked() -> None:
    points = st.session_state[CURVE]["selection"]["points"]
    if points:
        state.change(step=int(points[0]["x"]))


def _ways_on(
    model: Model, trace: Trace, table: pd.DataFrame, share: pd.DataFrame, step: int
) -> None:
    with st.container(horizontal=True):
        for label, frame_of, name, *more in (
            ("This token's answers (.csv)", table, "made-of", exact.number(step)),
            ("Share of the source (.csv)", share, "source-share"),
        ):
            tables.csv(label, frame_of.copy, file_name(name, model.name, trace.source, *more))
    flow = "" if "flow" in table else ', ["rollout", "alti", "gradient"]'
    names = "attribution.token_attribution import shares, source_share, token_attribution"
    exact.program(
        "The same numbers from Python",
        f"""{opening(model, trace, [names])}
table = token_attribution(translator.model, trace, {step}{flow})
print(table, shares(table))  # as they are, and each made to sum to 1
print(source_share(translator.model, trace))""",
    )
