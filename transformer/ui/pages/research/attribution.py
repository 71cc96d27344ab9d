"""Direct logit attribution: what each part of the model adds to the logit of an output token."""

from __future__ import annotations

import math

import streamlit as st

from transformer.analysis.attribution.direct_logits import DirectLogits, direct_logits
from transformer.inference import Trace
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.pages.research import Research, experiment
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import charts, controls, display_names
from transformer.ui.widgets.python_program import escaped_token, program_start

MAX_TOKENS = 128
"""Maximum length of source and target; longer ones take seconds."""
REQUIRED_HOOKS = (
    "attn.hook_heads",
    "attn_norm.hook_sum",
    "ffn.hook_output",
    "ffn_norm.hook_sum",
    "decoder.embed.hook_tokens",
    "decoder.embed.hook_positions",
    "encoder.hook_memory",
)
"""Ends of the names of the hook points that are needed."""
PART_LABELS = {
    "cross": "cross-attention heads",
    "decoder": "decoder self-attention heads",
    "ffn": "feed-forward networks",
    "embedding": "embedding of the previous token",
    "position": "position",
    "bias": "LayerNorms and biases",
}


def show(model: Model) -> None:
    """Draw the choice of sentence and token, and what each part adds to the token's logit."""
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
    else:
        names = [n for n in model.translator.model.hook_names if n.endswith(REQUIRED_HOOKS)]
        trace = trace_cache.with_hook_points(model, cached_trace, names)
        with token_column:
            step = _token_choice(trace)
        _attribution(model, trace, step)
    controls.sentence_examples(model)


def _attribution(model: Model, trace: Trace, step: int) -> None:
    candidates = _other_candidates(trace, step)
    # Left over from another token or model, or typed into the address.
    if state.view(Research).against not in {-1, *candidates}:
        state.set_fields(against=-1)
    against = None if state.view(Research).against < 0 else state.view(Research).against
    attribution = _direct_logits(model, trace, step, against)
    contrast = "" if against is None else f", against={against}"
    name_parts = () if against is None else (f"against-{against}",)
    experiment.show(
        experiment.Result(
            "All contributions",
            _sentence(model, trace, attribution, step, against),
            lambda: _draw(attribution, candidates),
            "In logits: blue raises the token's logit, orange lowers it; 0.7 more doubles its "
            "odds. Only the direct path counts, with the LayerNorm scales held fixed: what later "
            "layers compute from a head's output counts as their contribution. In the table, "
            "“removed” is the fall of the logit when the head is ablated at this position.",
            attribution.table,
            file_name(
                "adds-to-logit",
                model.name,
                trace.source,
                display_names.number(step),
                *name_parts,
            ),
            f"""{program_start(model, trace, ["attribution.direct_logits import direct_logits"])}
attribution = direct_logits(translator.model, trace, {step}{contrast})
table = attribution.table  # one row for each part; “adds” sums to the value
print(attribution.value, attribution.agreement)
print(table)""",
        )
    )


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


def _other_candidates(trace: Trace, step: int) -> dict[int, str]:
    """Return the candidates of this step that were not chosen: their labels by id."""
    return {
        candidate.id: f"{display_names.token(candidate.token)} · {100 * candidate.probability:.1f}%"
        for candidate in trace.translation.steps[step].candidates
        if candidate.id != trace.predicted_ids[step]
    }


@cached("Computing direct contributions …")
def _direct_logits(model: Model, trace: Trace, step: int, against: int | None) -> DirectLogits:
    return direct_logits(model.translator.model, trace, step, against)


def _sentence(
    model: Model, trace: Trace, attribution: DirectLogits, step: int, against: int | None
) -> str:
    token = escaped_token(trace.predicted_tokens[step])
    if against is None:
        reference = "the mean of all tokens"
    else:
        reference = f"that of “{escaped_token(model.translator.vocabulary.token(against))}”"
    cross = attribution.heads("cross").sum()
    return (
        f"The logit of “**{token}**” is **{_signed(attribution.value)}** above {reference}; "
        f"cross-attention heads add {_signed(cross)} of it."
    )


def _reliability(agreement: float) -> str:
    """Return how well direct contributions agree with the measured effects of ablating heads."""
    if math.isnan(agreement):
        return "Ablating heads of this model changes nothing here, so there is nothing to compare."
    strength = (
        "closely agrees"
        if agreement >= 0.8
        else "roughly agrees"
        if agreement >= 0.5
        else "hardly agrees"
    )
    return (
        f"Ablating each head in turn **{strength}** with this (correlation "
        f"{_signed(agreement)} over all heads); they differ where later layers react to the head."
    )


def _draw(attribution: DirectLogits, candidates: dict[int, str]) -> None:
    """Draw the heads, the choice of a token to compare with, and the sums of all parts."""
    charts.head_heatmaps(
        {kind: attribution.heads(kind) for kind in ("cross", "decoder")},
        "adds to the logit",
        "adds",
        lambda head, best: f", largest: {head} ({_signed(best)})" if best > 0 else "",
    )
    labels = {-1: "none"} | candidates
    st.selectbox(
        options=list(labels), format_func=labels.__getitem__, width=300, **state.bound("against")
    )
    sums = attribution.table.groupby("part")["adds"].sum()
    parts = ", ".join(f"{label} {_signed(sums[part])}" for part, label in PART_LABELS.items())
    st.markdown(
        "The logit is the sum of everything written to the decoder's residual stream at this "
        f"position: {parts}. {_reliability(attribution.agreement)}"
    )


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
