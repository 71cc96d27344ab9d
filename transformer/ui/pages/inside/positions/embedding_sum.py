"""Embedding plus position: their lengths, and the terms of the first layer's scores."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.positions import SIDES, STACKS, embedding_norms
from transformer.analysis.positions.score_parts import PARTS_WITH_BIAS, ScoreParts, score_parts
from transformer.figures.bars import grouped_bars, stacked_shares
from transformer.figures.positions import table
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.positions.sides import read_trace, side, tokens
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark

TERM_NAMES = dict(
    zip(
        PARTS_WITH_BIAS,
        (
            "content → content",
            "content → position",
            "position → content",
            "position → position",
            "bias → content",
            "bias → position",
        ),
        strict=True,
    )
)
"""Part of the query → part of the key; "bias" is the bias of the queries."""
MAX_TOKENS = 100
COUNT_WORDS = {4: "four", 6: "six"}


def vector_lengths(model: Model) -> None:
    """Draw the lengths of embedding and position for each token."""
    trace = read_trace(model)
    config = model.translator.model.config
    sqrt_d_model = config.d_model**0.5
    scaling = (
        f"multiplied by √d_model = {sqrt_d_model:.1f}" if config.scale_embedding else "not scaled"
    )
    st.markdown(
        f"The input of the first layer is a **sum**: the embedding of the token, {scaling}, plus "
        "the vector of the position (sections 3.4 and 3.5). Which of the two is longer?"
    )
    embedding = "embedding · √d_model" if config.scale_embedding else "embedding"
    titles = {"source": model.description.source, "target": model.description.target}
    for stack_side, column in zip(SIDES, st.columns(2, gap="large"), strict=True):
        lengths = embedding_norms(trace, stack_side)
        with column:
            st.header(titles[stack_side])
            labels = display_names.numbered_tokens(list(lengths["token"]))
            groups = {
                embedding: lengths["embedding"].to_numpy(),
                "position": lengths["encoding"].to_numpy(),
                "sum": lengths["sum"].to_numpy(),
            }
            chart(
                grouped_bars(groups, labels, x_title="token", y_title="vector length", dark=dark()),
                f"positions-added-{stack_side}",
            )
            embedding_mean, position_mean = lengths["embedding"].mean(), lengths["encoding"].mean()
            alternative = (
                ("Without", embedding_mean / sqrt_d_model)
                if config.scale_embedding
                else ("With", embedding_mean * sqrt_d_model)
            )
            st.caption(
                f"Mean length: embedding {embedding_mean:.2f}, position {position_mean:.2f}. "
                f"{alternative[0]} √d_model the embedding would have length {alternative[1]:.2f}."
            )
            tables.show(
                "Length of each vector; the cosine is that between embedding and position",
                ["Token", "Embedding", "Position", "Cosine", "Sum"],
                [
                    [label, *(f"{number:.2f}" for number in row)]
                    for label, row in zip(
                        labels,
                        lengths[["embedding", "encoding", "cosine", "sum"]].to_numpy(),
                        strict=True,
                    )
                ],
                words=True,
            )
    sinusoids = (
        "All sinusoids have the same length, √(d_model/2), because sin² + cos² = 1 in every pair. "
        if config.positions == "sinusoidal"
        else ""
    )
    st.caption(
        f"{sinusoids}A cosine near 0 means that the two are nearly orthogonal, so a layer can "
        "separate them."
    )


def score_terms(model: Model) -> None:
    """Draw the terms of the first layer's scores, for all heads and for one."""
    frame.lead_text(
        "Which heads attend by content, and which by position? The most positional are on top."
    )
    picture = st.container()
    config = model.translator.model.config
    count, query, key = "four", r"(c_i+p_i)W^Q", r"(c_j+p_j)W^K"
    if config.biases:
        count, query, key = "six", rf"({query}+b^Q)", rf"{key}+b^K"
    st.markdown(
        "In the first layer every query and key is computed from an embedding **plus** a "
        f"position. So a score is the sum of exactly {count} terms. Which of them determines "
        "what a head attends to?"
        + (
            " The projections of this model have biases: $b^Q$ adds the same vector to every "
            "query. The term of $b^K$ is the same for all keys, so the softmax ignores it."
            if config.biases
            else ""
        )
    )
    product = rf"{query}\,[{key}]^{{\top}}"
    scaled = config.score == "scaled_dot"
    st.latex(r"s_{ij}=" + (rf"\frac{{{product}}}{{\sqrt{{d_k}}}}" if scaled else product))
    kind = STACKS[state.view(Inside).side]
    trace = read_trace(model)
    if len(tokens(trace, state.view(Inside).side)) > MAX_TOKENS:
        raise ValueError(f"This figure supports up to {MAX_TOKENS} tokens; shorten the sentence.")
    terms = score_parts(model.translator.model, trace, kind)
    term_table = terms.to_frame().sort_values("position", ascending=False)
    with picture:
        chart(
            stacked_shares(
                term_table[list(terms.names)].to_numpy(),
                [TERM_NAMES[name] for name in terms.names],
                [f"head {display_names.number(head)}" for head in term_table["head"]],
                dark=dark(),
            ),
            "positions-shares",
        )
        side()
    top = term_table.iloc[0]
    st.caption(
        f"On this sentence head {display_names.number(int(top['head']))} is the most positional "
        f"one: {100 * top['position']:.0f}%. The bars are shares of the variance along the rows, "
        "after subtracting each row's mean, which the softmax ignores. Terms may cancel each "
        "other: a share is the size of a term, not its effect."
    )
    with st.expander("As a table"):
        st.dataframe(term_table.rename(columns=TERM_NAMES).round(3), hide_index=True)
    with st.expander("The terms of one head"):
        _head_terms(model, terms, trace.weights(kind, 0), int(top["head"]))
    st.caption(
        f"The {count} terms sum to the scores of the model. This holds only in the first layer: in "
        "later layers attention has mixed positions and LayerNorm has scaled the sums. Position → "
        "position is the same for every sentence."
    )


def _head_terms(model: Model, terms: ScoreParts, weights: np.ndarray, first: int) -> None:
    """Draw the terms of one head and their sum: scores, or the attention of each term alone."""
    head_column, display_column = st.columns(2)
    if state.view(Inside).head < 0:
        state.set_fields(head=first)
    numbering = display_names.number
    with head_column:
        st.selectbox(
            options=range(model.n_heads),
            format_func=lambda h: f"head {numbering(h)}",
            **state.bound("head"),
        )
    with display_column:
        display = st.segmented_control(
            "Show",
            ["scores", "attention"],
            default="scores",
            required=True,
            format_func={
                "scores": "Scores of each term",
                "attention": "Attention from each term alone",
            }.__getitem__,
            key="positions-alone",
        )
    head, labels = state.view(Inside).head, display_names.numbered_tokens(terms.tokens)
    as_attention = display == "attention"
    values = list(terms.weights_by_part()[:, head] if as_attention else terms.centred()[:, head])
    values.append(np.where(terms.allowed, weights[head], np.nan) if as_attention else sum(values))
    limit = max(float(np.nanmax(np.abs(matrix))) for matrix in values)
    names = [TERM_NAMES[name] for name in terms.names]
    names.append(f"sum of all {COUNT_WORDS[len(names)]}: the head itself")
    columns = [column for _ in names[::2] for column in st.columns(2)]
    for name, column, matrix in zip(names, columns, values, strict=False):
        with column:
            chart(
                table(
                    matrix,
                    labels,
                    labels,
                    y_title="from",
                    x_title="to",
                    quantity="weight" if as_attention else "score",
                    limit=limit,
                    weights=as_attention,
                    title=name,
                    dark=dark(),
                ),
                f"positions-{name}",
            )
    frame.page_button(
        HOME,
        "Show this head",
        "visibility",
        kind=terms.kind,
        layer=0,
        head=head,
        depth="heads",
        view="heatmap",
    )
