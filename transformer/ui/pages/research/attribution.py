"""Attribution: rollout, value zeroing, gradients and direct contributions of an output token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.attribution.direct_logits import KINDS, DirectLogits, direct_logits
from transformer.analysis.attribution.token_attribution import (
    CONTRAST_METHODS,
    METHODS,
    shares,
    token_attribution,
)
from transformer.figures.contributions import attribution_bars
from transformer.inference import Trace
from transformer.measures.naming import file_name, token_names
from transformer.ui.base import state
from transformer.ui.pages.research import Research
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import charts, controls, display_names, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.python_program import escaped_token, program_start

MAX_TOKENS = 128
"""Maximum length of source and target; gradients of more tokens take seconds."""
REQUIRED_HOOKS = (
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
"""Ends of the names of hook points that value zeroing and direct contributions
need in addition to the weights."""
PART_LABELS = {
    "cross": "cross-attention heads",
    "decoder": "decoder self-attention heads",
    "ffn": "feed-forward networks",
    "embedding": "embedding of the previous token",
    "position": "position",
    "bias": "LayerNorms and biases",
}


def show(model: Model) -> None:
    """Draw the attribution of one output token and of its logit."""
    with st.container(key="sentence-pair"):
        sentence_column, token_column = st.columns([3, 1], gap="small")
    with sentence_column:
        controls.sentence_field(model)
    cached_trace = trace_cache.read(model, state.view())
    longest = max(len(cached_trace.trace.src_tokens), len(cached_trace.trace.tgt_tokens))
    if longest > MAX_TOKENS:
        st.info(
            f"The text or its translation has {longest} tokens; attribution is computed for up to "
            f"{MAX_TOKENS}. Choose one sentence of it. “All heads” on Try accepts longer texts."
        )
        controls.sentence_examples(model)
        return
    names = [name for name in model.translator.model.hook_names if name.endswith(REQUIRED_HOOKS)]
    trace = trace_cache.with_hook_points(model, cached_trace, names)
    with token_column:
        step = _token_choice(trace)
    _one_token(model, trace, step)
    contrast_id = state.view(Research).against
    direct_attribution(model, trace, step, None if contrast_id < 0 else contrast_id)
    controls.sentence_examples(model)


def direct_attribution(model: Model, trace: Trace, step: int, against: int | None = None) -> None:
    """Draw what each head and other part adds to the token's logit, and how reliable that is."""
    st.header("Direct logit attribution")
    attribution = _cached_direct_logits(model, trace, step, against)
    token = escaped_token(trace.predicted_tokens[step])
    reference = "the mean of all tokens" if against is None else (
        f"“{escaped_token(model.translator.vocabulary.token(against))}”"
    )  # fmt: skip
    sums = attribution.table.groupby("part")["adds"].sum()
    parts = ", ".join(f"{label} {_signed(sums[part])}" for part, label in PART_LABELS.items())
    st.markdown(
        f"The logit of “**{token}**” is {_signed(attribution.value)} above {reference}. It is "
        "the sum of everything written to the decoder's residual stream at this position: "
        f"{parts}. By head:"
    )
    charts.head_heatmaps(
        {kind: attribution.heads(kind) for kind in ("cross", "decoder")},
        "adds to the logit",
        "adds",
        lambda head, best: f", largest: {head} ({_signed(best)})" if best > 0 else "",
    )
    st.caption(
        "In logits: blue raises the token's logit, orange lowers it; 0.7 more doubles its odds. "
        "Only the direct path counts, with the LayerNorm scales held fixed. What later layers "
        "compute from a head's output counts as their contribution."
    )
    st.markdown(_reliability(attribution))
    tables.csv(
        "Logit contributions (.csv)",
        lambda: _contribution_table(attribution),
        file_name("adds-to-logit", model.name, trace.source, display_names.number(step)),
    )
    against_argument = "" if against is None else f", against={against}"
    display_names.python_code(
        "The same numbers from Python",
        f"""{program_start(model, trace, ["attribution.direct_logits import direct_logits"])}
attribution = direct_logits(translator.model, trace, {step}{against_argument})
print(attribution.value, attribution.table)  # one row per part; they sum to the value
print(attribution.heads("cross"), attribution.removed("cross"), attribution.agreement)""",
    )


@cached("Computing direct contributions …")
def _cached_direct_logits(
    model: Model, trace: Trace, step: int, against: int | None
) -> DirectLogits:
    return direct_logits(model.translator.model, trace, step, against)


def _reliability(attribution: DirectLogits) -> str:
    """Return how well direct contributions agree with the measured effect of ablating each head."""
    agreement = attribution.agreement
    if np.isnan(agreement):
        return "Ablating heads of this model changes nothing here, so there is nothing to compare."
    strength = (
        "closely agrees"
        if agreement >= 0.8
        else "roughly agrees"
        if agreement >= 0.5
        else "hardly agrees"
    )
    return (
        "**How reliable is this?** Each head was also ablated at this position: the measured "
        f"change **{strength}** with the direct contributions (correlation "
        f"{_signed(agreement)} over all heads). They differ where later layers react to the head."
    )


def _contribution_table(attribution: DirectLogits) -> pd.DataFrame:
    """Return the table with the measured effect of ablating each head."""
    table = attribution.table.copy()
    table["removed"] = np.nan
    for kind in KINDS:
        table.loc[table["part"] == kind, "removed"] = attribution.removed(kind).ravel()
    return table


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


@dataclass(frozen=True)
class MethodExplanation:
    """The texts of a method; `title` is above its bars."""

    title: str
    description: str
    source: str
    limitation: str


EXPLANATIONS = {
    "rollout": MethodExplanation(
        "Rollout",
        "The weights of all layers multiplied, with heads averaged and half of each position "
        "kept in every layer for the residual connection.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "because the kept half is constant, the source always gets {level:.1f}% of every token "
        "($1-0.5^{{{layers}}}$). It shows which tokens matter, not how much the source does.",
    ),
    "zeroing": MethodExplanation(
        "Value zeroing",
        "How far the output of each layer changes when the value of one token is set to 0, "
        "including the feed-forward network and the residual connection, multiplied over the "
        "layers.",
        "Mohebbi et al. 2023; the residual connection's part is added here",
        "if either of two tokens is enough, both seem unimportant; and it does not measure the "
        "effect on the prediction.",
    ),
    "gradient": MethodExplanation(
        "Gradient",
        "How the log-probability of this token depends on each token's embedding: gradient × "
        "embedding. Negative values lower it.",
        "Simonyan et al. 2014, Denil et al. 2014",
        "it holds for small changes only, is noisy, and is small where the model is confident, "
        "because a probability near 1 can hardly change.",
    ),
}

MAX_ZEROING_TOKENS = 64
"""Maximum length of source and target for value zeroing, which takes seconds beyond it."""


def _one_token(model: Model, trace: Trace, step: int) -> None:
    """Draw the selected output token's bars and the exports."""
    picture = st.container()
    against, contrast_token = _contrast_choice(trace, step)
    requested = METHODS if against is None else CONTRAST_METHODS
    with_zeroing = max(len(trace.src_tokens), len(trace.tgt_tokens)) <= MAX_ZEROING_TOKENS
    methods = tuple(name for name in requested if with_zeroing or name != "zeroing")
    table = _cached_attribution(model, trace, step, methods, against)
    _introduction(trace, step, contrast_token)
    with picture:
        _method_bars(model, trace, table, methods, step, against)
    _explanations(model, requested, methods)
    _exports(model, trace, table, step, against)


def _token_choice(trace: Trace) -> int:
    tokens = trace.predicted_tokens
    names, numbering = display_names.tokens(tokens), display_names.number
    if state.view().step >= len(tokens):
        state.set_fields(step=len(tokens) - 1)
    st.selectbox(
        "Output token",
        range(len(tokens)),
        format_func=lambda position: f"{numbering(position)} · {names[position]}",
        **state.bound("step"),
    )
    return state.view().step


def _contrast_choice(trace: Trace, step: int) -> tuple[int | None, str]:
    """Draw the menu of contrast tokens. Return the selected id and token, or (None, "")."""
    predicted_id = trace.predicted_ids[step]
    candidates = {c.id: c for c in trace.translation.steps[step].candidates if c.id != predicted_id}
    # Left over from another token or model, or typed into the address.
    if state.view(Research).against not in {-1, *candidates}:
        state.set_fields(against=-1)
    names = {-1: "none"}
    names |= {
        key: f"{display_names.token(c.token)} · {100 * c.probability:.1f}%"
        for key, c in candidates.items()
    }
    st.selectbox(
        options=list(names), format_func=names.__getitem__, width=300, **state.bound("against")
    )
    against = state.view(Research).against
    return (None, "") if against < 0 else (against, candidates[against].token)


def _introduction(trace: Trace, step: int, contrast_token: str) -> None:
    token = escaped_token(trace.predicted_tokens[step])
    prefix = " ".join(escaped_token(prefix_token) for prefix_token in trace.tgt_tokens[: step + 1])
    inputs = f"the model had the whole source and the prefix {prefix}."
    if not contrast_token:
        st.markdown(
            f"To predict “**{token}**”, {inputs} Rollout and value zeroing attribute the decoder's "
            "vector at this position, the gradient the log-probability of the token:"
        )
        return
    st.markdown(
        f"Why “**{token}**” and not “**{escaped_token(contrast_token)}**”? To choose, {inputs}"
    )
    st.caption(
        "Rollout and value zeroing do not apply: they follow how vectors mix and ignore which "
        "token was chosen. The gradient explains the difference of the two logits (Yin & Neubig "
        f"2022): positive values favour “{token}”, negative ones "
        f"“{escaped_token(contrast_token)}”."
    )


def _method_bars(
    model: Model,
    trace: Trace,
    table: pd.DataFrame,
    methods: tuple[str, ...],
    step: int,
    against: int | None,
) -> None:
    figure = _bar_figure(
        model, trace, step, methods, against, dark(), display_names.is_exact(), table
    )
    chart(figure, "attribution-token")
    st.caption(
        "Above the gap: source tokens; below it: the tokens written so far. Each column is "
        "normalised to 100%; the file below has the original numbers."
    )


def _explanations(model: Model, requested: tuple[str, ...], methods: tuple[str, ...]) -> None:
    for column, name in zip(st.columns(len(requested)), requested, strict=True):
        with column:
            method = EXPLANATIONS[name]
            limitation = method.limitation.format(
                level=100 * (1 - 0.5**model.n_layers), layers=model.n_layers
            )
            st.markdown(f"**{method.title}.** {method.description}")
            st.caption(f"{method.source}.  \n**Limitation:** {limitation}")
            if name not in methods:
                st.caption(f"Not computed: limited to {MAX_ZEROING_TOKENS} tokens.")


@cached("Computing all methods …")
def _cached_attribution(
    model: Model, trace: Trace, step: int, methods: tuple[str, ...], against: int | None
) -> pd.DataFrame:
    return token_attribution(model.translator.model, trace, step, methods, against)


# Cached, as Plotly takes most of the time of a rerun.
@cached()
def _bar_figure(
    model: Model,
    trace: Trace,
    step: int,
    methods: tuple[str, ...],
    against: int | None,
    dark: bool,
    exact: bool,
    _table: pd.DataFrame,
) -> Figure:
    normalised = shares(_table)
    parts = {EXPLANATIONS[name].title: normalised[name].to_numpy() for name in methods}
    source = len(trace.src_tokens)
    tokens = _table["token"].to_list()
    names = [name for part in (tokens[:source], tokens[source:])
             for name in token_names(part, exact)]  # fmt: skip
    return attribution_bars(names, len(trace.src_tokens), parts, dark=dark)


def _exports(
    model: Model, trace: Trace, table: pd.DataFrame, step: int, against: int | None
) -> None:
    name_parts = () if against is None else (f"against-{against}",)
    number = display_names.number(step)
    tables.csv(
        "Attributions of this token (.csv)",
        table.copy,
        file_name("attribution", model.name, trace.source, number, *name_parts),
    )
    methods = list(table.columns[3:])
    methods_argument = "" if against is not None or len(methods) == len(METHODS) else f", {methods}"
    against_argument = "" if against is None else f", against={against}"
    names = "attribution.token_attribution import shares, token_attribution"
    display_names.python_code(
        "The same numbers from Python",
        f"""{program_start(model, trace, [names])}
table = token_attribution(translator.model, trace, {step}{methods_argument}{against_argument})
print(table, shares(table))  # original, and normalised to sum to 1""",
    )
