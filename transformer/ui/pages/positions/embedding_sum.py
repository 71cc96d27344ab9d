"""Embedding plus position: their lengths, and the terms of the first layer's scores."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.positions import SIDES, STACKS, added
from transformer.analysis.positions.score_parts import BIASED, ScoreParts, score_parts
from transformer.figures.clocks import bars, shares
from transformer.figures.positions import table
from transformer.ui import state
from transformer.ui.pages.positions import Positions
from transformer.ui.pages.positions.sides import recorded, side, tokens
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact, frame, tables
from transformer.ui.widgets.charts import chart, dark

NAMES = dict(
    zip(
        BIASED,
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
"""Part of the query → part of the key; "bias" is that of the queries."""
MOST_TOKENS = 100
COUNTS = {4: "four", 6: "six"}


def sizes(model: Model) -> None:
    """Draw the lengths of embedding and position for each token."""
    trace = recorded(model)
    config = model.translator.model.config
    root = config.d_model**0.5
    times = f"multiplied by √d_model = {root:.1f}" if config.scale_embedding else "not scaled"
    st.markdown(
        f"The input of the first layer is a **sum**: the embedding of the token, {times}, plus the "
        "vector of the position (sections 3.4 and 3.5). Which of the two is longer?"
    )
    embedding = "embedding · √d_model" if config.scale_embedding else "embedding"
    titles = {"source": model.about.source, "target": model.about.target}
    for which, column in zip(SIDES, st.columns(2, gap="large"), strict=True):
        found = added(trace, which)
        with column:
            st.header(titles[which])
            labels = [
                f"{exact.number(at)} {token}"
                for at, token in enumerate(exact.tokens(list(found["token"])))
            ]
            groups = {
                embedding: found["embedding"].to_numpy(),
                "position": found["encoding"].to_numpy(),
                "sum": found["sum"].to_numpy(),
            }
            chart(
                bars(groups, labels, across="token", down="vector length", dark=dark()),
                f"positions-added-{which}",
            )
            word, place = found["embedding"].mean(), found["encoding"].mean()
            other = ("Without", word / root) if config.scale_embedding else ("With", word * root)
            st.caption(
                f"Mean length of the embedding {word:.2f}, of the position {place:.2f}. {other[0]} "
                f"√d_model the embedding would have length {other[1]:.2f}."
            )
            tables.show(
                "Length of each vector; the cosine is that between embedding and position",
                ["Token", "Embedding", "Position", "Cosine", "Sum"],
                [
                    [label, *(f"{number:.2f}" for number in row)]
                    for label, row in zip(
                        labels,
                        found[["embedding", "encoding", "cosine", "sum"]].to_numpy(),
                        strict=True,
                    )
                ],
            )
    st.caption(
        "All sinusoids have the same length, √(d_model/2), because sin² + cos² = 1 in every pair. "
        "A cosine near 0 means that the two are nearly orthogonal, so a layer can read either."
    )


def parts(model: Model) -> None:
    """Draw the terms of the first layer's scores, for all heads and for one."""
    config = model.translator.model.config
    count, query, key = "four", r"(c_i+p_i)W^Q", r"(c_j+p_j)W^K"
    if config.biases:
        count, query, key = "six", rf"({query}+b^Q)", rf"{key}+b^K"
    st.markdown(
        "In the first layer every query and key is computed from an embedding **plus** a "
        f"position. So a score is the sum of exactly {count} terms. Which of them determines "
        "where a head looks?"
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
    kind = STACKS[side()]
    trace = recorded(model)
    if len(tokens(trace, state.view(Positions).side)) > MOST_TOKENS:
        raise ValueError(f"This figure supports up to {MOST_TOKENS} tokens; shorten the sentence.")
    found = score_parts(model.translator.model, trace, kind)
    frame_of = found.to_frame().sort_values("place", ascending=False)
    st.markdown(
        "**Which heads attend by content, and which by position?** The most positional are on top."
    )
    chart(
        shares(
            frame_of[list(found.names)].to_numpy(),
            [NAMES[name] for name in found.names],
            [f"head {exact.number(head)}" for head in frame_of["head"]],
            dark=dark(),
        ),
        "positions-shares",
    )
    top = frame_of.iloc[0]
    st.caption(
        f"On this sentence head {exact.number(int(top['head']))} is the most positional one: "
        f"{top['place']:.0%}. The bars are shares of the variance along the rows, after "
        "subtracting each row's mean, which the softmax ignores. Terms may cancel each other: a "
        "share is the size of a term, not its effect."
    )
    with st.expander("As a table"):
        st.dataframe(frame_of.rename(columns=NAMES).round(3), hide_index=True)
    _one(model, found, trace.weights(kind, 0), int(top["head"]))
    st.caption(
        f"The {count} terms sum to the scores of the model; largest difference {found.error:.1e}. "
        "This holds only in the first layer: in later layers attention has mixed positions and "
        "LayerNorm has scaled the sums. Position → position is the same for every sentence."
    )


def _one(model: Model, found: ScoreParts, weights: np.ndarray, first: int) -> None:
    """Draw the terms of one head and their sum: scores, or the attention of each term alone."""
    left, right = st.columns(2)
    if state.view(Positions).head < 0:
        state.set_fields(head=first)
    called = exact.numbering()
    with left:
        st.selectbox(
            options=range(model.n_heads),
            format_func=lambda h: f"head {called(h)}",
            **state.bound("head"),
        )
    with right:
        alone = st.segmented_control(
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
    head, labels = (
        state.view(Positions).head,
        [f"{exact.number(at)} {token}" for at, token in enumerate(exact.tokens(found.tokens))],
    )
    look = alone == "attention"
    values = list(found.alone()[:, head] if look else found.centred()[:, head])
    values.append(np.where(found.allowed, weights[head], np.nan) if look else sum(values))
    limit = max(float(np.nanmax(np.abs(picture))) for picture in values)
    names = [NAMES[name] for name in found.names]
    names.append(f"sum of all {COUNTS[len(names)]}: the head itself")
    columns = [column for _ in names[::2] for column in st.columns(2)]
    for name, column, picture in zip(names, columns, values, strict=False):
        with column:
            chart(
                table(
                    picture,
                    labels,
                    labels,
                    down="from",
                    across="to",
                    quantity="weight" if look else "score",
                    limit=limit,
                    weights=look,
                    title=name,
                    dark=dark(),
                ),
                f"positions-{name}",
            )
    frame.page_button(
        "pages/attention.py",
        "Show this head",
        "visibility",
        kind=found.kind,
        layer=0,
        head=head,
        view="heatmap",
    )
