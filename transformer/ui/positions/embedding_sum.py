"""What is added to which embedding, and what of it the first scores are made of."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.positions import SIDES, STACKS, added
from transformer.analysis.positions.score_parts import BIASED, ScoreParts, score_parts
from transformer.figures.clocks import bars, shares
from transformer.figures.positions import table
from transformer.ui import frame, state
from transformer.ui.kit import exact, tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.models import Model
from transformer.ui.positions import Positions
from transformer.ui.positions.sides import recorded, side, tokens

NAMES = dict(
    zip(
        BIASED,
        (
            "word → word",
            "word → place",
            "place → word",
            "place → place",
            "always → word",
            "always → place",
        ),
        strict=True,
    )
)
"""What the query is of → what the key is of; "always" is the bias of the queries."""
MOST_TOKENS = 100
COUNTS = {4: "four", 6: "six"}


def sizes(model: Model) -> None:
    """How large word and place are in each sum."""
    trace = recorded(model)
    config = model.translator.model.config
    root = config.d_model**0.5
    times = f"multiplied by √d_model = {root:.1f}" if config.scale_embedding else "as it is"
    st.markdown(
        f"What the first layer reads is a **sum**: the token's embedding, {times}, plus the "
        "place's vector (sections 3.4 and 3.5). Which of the two is longer?"
    )
    called = "word · √d_model" if config.scale_embedding else "word"
    titles = {"source": model.about.source, "target": model.about.target}
    for which, column in zip(SIDES, st.columns(2, gap="large"), strict=True):
        found = added(trace, which)
        with column:
            st.header(titles[which])
            labels = [f"{at} {token}" for at, token in enumerate(found["token"])]
            groups = {
                called: found["embedding"].to_numpy(),
                "place": found["encoding"].to_numpy(),
                "their sum": found["sum"].to_numpy(),
            }
            chart(
                bars(groups, labels, across="token", down="length of the vector", dark=dark()),
                f"positions-added-{which}",
            )
            word, place = found["embedding"].mean(), found["encoding"].mean()
            other = ("Without", word / root) if config.scale_embedding else ("With", word * root)
            st.caption(
                f"On average the word is {word:.2f} long and the place {place:.2f}. {other[0]} "
                f"√d_model the word would be {other[1]:.2f}."
            )
            tables.show(
                "Length of each vector; the cosine is between word and place",
                ["Token", "Word", "Place", "Cosine", "Sum"],
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
        "Sinusoids are all equally long: √(d_model/2), for sin² + cos² = 1 in every pair. A "
        "cosine near 0 means that the two hardly meet: a layer can read either from the sum."
    )


def parts(model: Model) -> None:
    """The parts of a first-layer score, of one head and of all."""
    config = model.translator.model.config
    count, query, key = "four", r"(c_i+p_i)W^Q", r"(c_j+p_j)W^K"
    if config.biases:
        count, query, key = "six", rf"({query}+b^Q)", rf"{key}+b^K"
    st.markdown(
        "In the first layer every query and every key is a word **plus** a place. So a score is "
        f"exactly {count} sums: which of them tells the head where to look?"
        + (
            " This model's projections have biases: with $b^Q$ every query asks the same too, "
            "whatever stands there. What $b^K$ adds is the same for all keys, and softmax does not "
            "see it."
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
        raise ValueError(f"This picture is of at most {MOST_TOKENS} pieces; shorten the sentence.")
    found = score_parts(model.translator.model, trace, kind)
    frame_of = found.to_frame().sort_values("place", ascending=False)
    st.markdown("**Which heads look at words, and which at places?** Most at places on top.")
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
        f"On this sentence head {exact.number(int(top['head']))} looks most at places: "
        f"{top['place']:.0%}. The bars are shares of variance along the rows, without each row's "
        "mean, which softmax does not see. Parts may cancel one another: a share says how loud "
        "a part is, not who wins."
    )
    with st.expander("As a table"):
        st.dataframe(frame_of.rename(columns=NAMES).round(3), hide_index=True)
    _one(model, found, trace.weights(kind, 0), int(top["head"]))
    st.caption(
        f"The {count} parts sum to the model's own scores; largest difference {found.error:.1e}. "
        "This holds in the first layer alone: above, attention has mixed the words and places of "
        "many positions, and LayerNorm has scaled the sum. Place → place is the same for every "
        "sentence."
    )


def _one(model: Model, found: ScoreParts, weights: np.ndarray, first: int) -> None:
    """One head's parts and their whole as pictures: scores, or where each alone would look."""
    left, right = st.columns(2)
    if state.view(Positions).head < 0:
        state.normalise(head=first)
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
                "scores": "Each part's scores",
                "attention": "Where each alone would look",
            }.__getitem__,
            key="positions-alone",
        )
    head, labels = (
        state.view(Positions).head,
        [f"{at} {token}" for at, token in enumerate(exact.tokens(found.tokens))],
    )
    look = alone == "attention"
    values = list(found.alone()[:, head] if look else found.centred()[:, head])
    values.append(np.where(found.allowed, weights[head], np.nan) if look else sum(values))
    limit = max(float(np.nanmax(np.abs(picture))) for picture in values)
    names = [NAMES[name] for name in found.names]
    names.append(f"all {COUNTS[len(names)]} together: the head itself")
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
                    what="weight" if look else "score",
                    limit=limit,
                    weights=look,
                    title=name,
                    dark=dark(),
                ),
                f"positions-{name}",
            )
    frame.go(
        "pages/attention.py",
        "See the whole head",
        "visibility",
        kind=found.kind,
        layer=0,
        head=head,
        view="heatmap",
    )
