"""Attribution: weights, norms, rollout, flow, ALTI+, value zeroing and gradients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.attribution.direct_logits import KINDS, DirectLogits, direct_logits
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
from transformer.ui.pages.lab import Lab, attribution_head
from transformer.ui.pages.lab.attribution_head import TOKENS, explain, opening, piece
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import charts, controls, exact, frame, tables
from transformer.ui.widgets.charts import chart, dark

MAX_PIECES = 128
"""Pieces of the longer side: gradients and ALTI+ of longer sentences take seconds."""
READ = (
    "attn.hook_value",
    "attn.hook_heads",
    "attn_norm.hook_sum",
    "attn_norm.hook_output",
    "ffn.hook_output",
    "ffn_norm.hook_sum",
    "ffn_norm.hook_output",
    "embed.hook_tokens",
    "embed.hook_positions",
    "embed.hook_output",
    "encoder.hook_memory",
)
"""What norms and ALTI+ read besides the weights."""
PARTS = {
    "cross": "cross-attention heads",
    "decoder": "decoder self-attention heads",
    "ffn": "feed-forward networks",
    "embedding": "embedding of the previous token",
    "position": "position",
    "bias": "LayerNorms and biases",
}


def show(model: Model) -> None:
    """The visitor's sentence, one head of it, and one output token of it."""
    frame.lead_text(
        "A weight says which share of its attention a query gives to a key. It does not say how "
        "large the vector is or whether the model uses it. Compare every weight with its "
        "**contribution**."
    )
    controls.sentence(model)
    reading = trace_cache.read(model, state.view())
    st.markdown(f"{model.about.target}: **{frame.plain(reading.trace.text)}**")
    longest = max(len(reading.trace.src_tokens), len(reading.trace.tgt_tokens))
    if longest > MAX_PIECES:
        st.info(
            f"The text or its translation has {longest} tokens; attribution is computed for up to "
            f"{MAX_PIECES}. Choose one sentence of it. The Attention page accepts longer texts."
        )
        return
    names = [name for name in model.translator.model.hook_names if name.endswith(READ)]
    trace = trace_cache.with_sites(model, reading, names)
    attribution_head.show(model, reading, trace)
    _one_token(model, trace)
    rival = state.view(Lab).against
    board(model, trace, state.view().step, None if rival < 0 else rival)


def board(model: Model, trace: Trace, step: int, against: int | None = None) -> None:
    """A board of the decoder's heads, what else adds to the logit, and how far to believe it."""
    st.header("Direct logit attribution")
    found = _direct(model, trace, step, against)
    written = piece(trace.predicted_tokens[step])
    over = "the mean of all tokens" if against is None else (
        f"“{piece(model.translator.vocabulary.token(against))}”"
    )  # fmt: skip
    sums = found.table.groupby("part")["adds"].sum()
    parts = ", ".join(f"{called} {_signed(sums[part])}" for part, called in PARTS.items())
    st.markdown(
        f"The logit of “**{written}**” is {_signed(found.value)} above {over}. It is the sum of "
        f"everything written to the decoder's residual stream at this position: {parts}. By head:"
    )
    charts.head_heatmaps(
        {kind: found.heads(kind) for kind in ("cross", "decoder")},
        "adds to the logit",
        "adds",
        lambda head, best: f", most by {head} ({_signed(best)})" if best > 0 else "",
    )
    st.caption(
        "In logits: blue raises the token's logit, orange lowers it; 0.7 more doubles its odds. "
        "Only the direct path counts, with the LayerNorm scales held fixed. What later layers make "
        "of a head's output is counted as theirs."
    )
    st.markdown(_believed(found))
    tables.csv(
        "Logit contributions (.csv)",
        lambda: _lines(found),
        file_name("adds-to-logit", model.name, trace.source, exact.number(step)),
    )
    rival = "" if against is None else f", against={against}"
    exact.python_code(
        "The same numbers from Python",
        f"""{opening(model, trace, ["attribution.direct_logits import direct_logits"])}
found = direct_logits(translator.model, trace, {step}{rival})
print(found.value, found.table)  # one row per part; they sum to the value
print(found.heads("cross"), found.removed("cross"), found.agreement)""",
    )


@cached("Computing direct contributions …")
def _direct(model: Model, trace: Trace, step: int, against: int | None) -> DirectLogits:
    return direct_logits(model.translator.model, trace, step, against)


def _believed(found: DirectLogits) -> str:
    """How far the straight way is the whole one, measured here."""
    agreement = found.agreement
    if np.isnan(agreement):
        return "Ablating heads of this model changes nothing here, so there is nothing to compare."
    how = "closely" if agreement >= 0.8 else "roughly" if agreement >= 0.5 else "hardly"
    return (
        "**How reliable is this?** Each head was also ablated at this position: the measured "
        f"change agrees **{how}** with the direct contributions (correlation {_signed(agreement)} "
        "over all heads). They differ where later layers react to the head."
    )


def _lines(found: DirectLogits) -> pd.DataFrame:
    """The table, and beside each head what really goes without it."""
    lines = found.table.copy()
    lines["removed"] = np.nan
    for kind in KINDS:
        lines.loc[lines["part"] == kind, "removed"] = found.removed(kind).ravel()
    return lines


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


SHORT = {"flow": 64, "zeroing": 64}
"""Pieces of the longer side: these take seconds for longer sentences."""
CURVE = "moves-curve"


def _one_token(model: Model, trace: Trace) -> None:
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
    _curve(share, _line(model, trace, step, dark(), exact.is_on(), share))
    _ways_on(model, trace, table, share, (step, against))


def _choose(trace: Trace) -> int:
    tokens = trace.predicted_tokens
    names, called = exact.tokens(tokens), exact.numbering()
    if state.view().step >= len(tokens):
        state.set_fields(step=len(tokens) - 1)
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
        state.set_fields(against=-1)
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
    figure = _bars(model, trace, step, there, against, dark(), exact.is_on(), table)
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


@cached("Computing all methods …")
def _made_of(
    model: Model, trace: Trace, step: int, methods: tuple[str, ...], against: int | None
) -> pd.DataFrame:
    return token_attribution(model.translator.model, trace, step, methods, against)


@cached("Computing the source share …")
def _source_share(model: Model, trace: Trace) -> pd.DataFrame:
    return source_share(model.translator.model, trace)


# Plotly takes longer to make a figure than all the rest of a rerun.
@cached()
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


@cached()
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
    exact.python_code(
        "The same numbers from Python",
        f"""{opening(model, trace, [names])}
table = token_attribution(translator.model, trace, {step}{which}{rival})
print(table, shares(table))  # as they are, and each made to sum to 1
print(source_share(translator.model, trace))""",
    )
