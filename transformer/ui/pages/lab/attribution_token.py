"""One output token: what it was made of by six methods, and how much of it is the source's."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.attribution.token_attribution import (
    METHODS,
    OF_TOKENS,
    OF_VECTORS,
    shares,
    source_share,
    token_attribution,
)
from transformer.figures.contributions import answers, source_curve
from transformer.inference import Trace
from transformer.measures.naming import file_name, token_names
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.attribution_head import opening
from transformer.ui.pages.lab.attribution_texts import TOKENS, explain, piece
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.widgets import exact, tables
from transformer.ui.widgets.charts import chart, dark

SHORT = {"flow": 64, "zeroing": 64}
"""Pieces of the longer side: these take seconds for longer sentences."""
CURVE = "moves-curve"


def show(model: Model, trace: Trace) -> None:
    """The chosen output token's bars, the curve over all of them, and the numbers to take away."""
    st.header("Attribution of one output token")
    with st.container(horizontal=True, gap="medium"):
        step = _choose(trace)
        against, other = _rival(trace, step)
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    asked = METHODS if against is None else OF_TOKENS
    methods = tuple(name for name in asked if longest <= SHORT.get(name, longest))
    table = _made_of(model, trace, step, methods, against)
    share = _source_share(model, trace)
    _asked(trace, step, other)
    if against is None:
        _answers(model, trace, table, OF_VECTORS, step, None)
        _explained(share, model, OF_VECTORS, methods)
    _answers(model, trace, table, OF_TOKENS, step, against)
    _summed(trace, step, other, table.attrs["integrated"])
    _explained(share, model, OF_TOKENS, methods)
    _curve(share, _line(model, trace, step, dark(), exact.on(), share))
    _ways_on(model, trace, table, share, (step, against))


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
    return state.view().step


def _rival(trace: Trace, step: int) -> tuple[int | None, str]:
    """The id and the piece of the candidate that the token is held against; None for none."""
    own = trace.predicted_ids[step]
    found = {c.id: c for c in trace.translation.steps[step].candidates if c.id != own}
    # Of another token or model, or of an address written by hand.
    if state.view(Lab).against not in {-1, *found}:
        state.normalise(against=-1)
    names = {-1: "none"}
    names |= {key: f"{exact.token(c.token)} · {c.probability:.1%}" for key, c in found.items()}
    st.selectbox(
        options=list(names), format_func=names.__getitem__, width=300, **state.bound("against")
    )
    against = state.view(Lab).against
    return (None, "") if against < 0 else (against, found[against].token)


def _asked(trace: Trace, step: int, other: str) -> None:
    token = piece(trace.predicted_tokens[step])
    read = " ".join(piece(one) for one in trace.tgt_tokens[: step + 1])
    had = f"the model had the whole source and the prefix {read}."
    if not other:
        st.markdown(
            f"To predict “**{token}**”, {had} Four methods attribute the decoder's vector at this "
            "position, two the log-probability of the token:"
        )
        return
    st.markdown(f"Why “**{token}**” and not “**{piece(other)}**”? To choose, {had}")
    names = ", ".join(TOKENS[name].title for name in OF_VECTORS)
    st.caption(
        f"{names} do not apply: they follow how vectors mix and ignore which token was chosen. "
        "The other two explain the difference of the two logits (Yin & Neubig 2022): positive "
        f"values favour “{token}”, negative ones “{piece(other)}”."
    )


def _answers(
    model: Model,
    trace: Trace,
    table: pd.DataFrame,
    methods: tuple[str, ...],
    step: int,
    against: int | None,
) -> None:
    there = tuple(name for name in methods if name in table)
    figure = _bars(model, trace, step, there, against, dark(), exact.on(), table)
    chart(figure, "moves-answers" if methods == OF_VECTORS else "moves-speaks")
    st.caption(
        "Above the gap: source tokens; below it: the tokens written so far. Each column is "
        "normalised to 100 %; the file below has the original numbers."
    )


def _explained(
    share: pd.DataFrame, model: Model, group: tuple[str, ...], methods: tuple[str, ...]
) -> None:
    for column, name in zip(st.columns(len(group)), group, strict=True):
        with column:
            explain(TOKENS[name], level=share["rollout"].iloc[0], layers=model.n_layers)
            if name not in methods:
                st.caption(f"Not computed: limited to {SHORT[name]} tokens.")


def _summed(trace: Trace, step: int, other: str, sums: dict[str, float]) -> None:
    """Whether integrated gradients add up, and to what."""
    token = piece(trace.predicted_tokens[step])
    what = f"the log-probability of “{token}”"
    if other:
        what = f"the logit of “{token}” less that of “{piece(other)}”"
    low, high, total = (
        f"{number:.2f}".replace("-", "−")
        for number in (sums["baseline"], sums["value"], sums["value"] - sums["baseline"])
    )
    st.markdown(
        f"From the baseline to this sentence, {what} changes from {low} to {high} nats. Integrated "
        f"gradients distribute this change of {total} up to an error of {abs(sums['gap']):.2f}, "
        f"with {sums['steps']:.0f} steps."
    )


@remembered("Computing all methods …")
def _made_of(
    model: Model, trace: Trace, step: int, methods: tuple[str, ...], against: int | None
) -> pd.DataFrame:
    return token_attribution(model.translator.model, trace, step, methods, against)


@remembered("Computing the source share …")
def _source_share(model: Model, trace: Trace) -> pd.DataFrame:
    return source_share(model.translator.model, trace)


# Plotly takes longer to make a figure than all the rest of a rerun.
@remembered()
def _bars(
    model: Model,
    trace: Trace,
    step: int,
    methods: tuple[str, ...],
    against: int | None,
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
    st.header("Source or prefix?")
    low = share.iloc[[int(share["alti"].to_numpy().argmin())]]
    token, least = str(low["token"].iloc[0]), float(low["alti"].iloc[0])
    st.markdown(
        "The decoder uses the source **and** the prefix it has written. ALTI+ measures the share "
        "of both at every output token. Here the source contributes least to "
        f"“**{piece(token)}**”: {least:.0%}."
    )
    chart(figure, CURVE, _picked)
    st.caption("Click a point to select that token above.")


def _picked() -> None:
    points = st.session_state[CURVE]["selection"]["points"]
    if points:
        state.change(step=int(points[0]["x"]))


def _ways_on(
    model: Model,
    trace: Trace,
    table: pd.DataFrame,
    share: pd.DataFrame,
    asked: tuple[int, int | None],
) -> None:
    step, against = asked
    others = () if against is None else (f"against-{against}",)
    with st.container(horizontal=True):
        for label, frame_of, name, *more in (
            ("Attributions of this token (.csv)", table, "made-of", exact.number(step), *others),
            ("Share of the source (.csv)", share, "source-share"),
        ):
            tables.csv(label, frame_of.copy, file_name(name, model.name, trace.source, *more))
    methods = list(table.columns[3:])
    which = "" if against is not None or len(methods) == len(METHODS) else f", {methods}"
    rival = "" if against is None else f", against={against}"
    names = "attribution.token_attribution import shares, source_share, token_attribution"
    exact.program(
        "The same numbers from Python",
        f"""{opening(model, trace, [names])}
table = token_attribution(translator.model, trace, {step}{which}{rival})
print(table, shares(table))  # as they are, and each made to sum to 1
print(source_share(translator.model, trace))""",
    )
