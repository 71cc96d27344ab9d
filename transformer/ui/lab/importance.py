"""Which heads matter over a corpus, and how many can go."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import silent
from transformer.analysis.findings.finding import spread
from transformer.analysis.reports import REPORTS
from transformer.figures.naming import counted, file_name
from transformer.figures.positions import table as coloured
from transformer.figures.state import KINDS
from transformer.ui import frame
from transformer.ui.kit import exact, tables, terms
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.computed import measured
from transformer.ui.kit.corpus import chosen
from transformer.ui.kit.remembered import remembered
from transformer.ui.lab import pruning
from transformer.ui.models import Model

GATES = {"sentence": "Sentence", "position": "Position"}
COLUMNS = {
    "sentence": ("importance", "normalised"),
    "position": ("position", "position_normalised"),
}
ABOUT = {
    "sentence": "E|∂L/∂ξ| of a gate ξ on each head, mean over sentences (Michel et al. 2019, "
    "equation 2). What a head does for one word of a sentence and against another cancels.",
    "position": "E|∂L/∂ξ| of a gate ξ on what each head writes at each position, mean over "
    "positions: what the program of Michel et al. 2019 computes. Nothing cancels.",
}
FEW = 8
"""Sentences that the game goes by until all are measured: en-fr takes 0.2 s for them."""
ONE_BY_ONE = 40
"""Sentences of the corpus over which every head is left out in its turn."""


def show(model: Model) -> None:
    """The pruning game, then what it goes by: the importance of all heads over a corpus."""
    frame.lead(
        "A head may look busy and change nothing. Take heads away, the least important first, "
        "until the translation **breaks**: which kind can spare most?"
    )
    game = st.container()
    st.subheader("Which heads matter?")
    st.markdown(
        "Two ways to ask: how steeply the loss would move if a head were turned down a little, and "
        "what happens if it really goes."
    )
    corpus = chosen(model)
    if corpus is None:
        return
    found = measured(
        model,
        corpus,
        "importance",
        button="Measure the heads",
        about="Every head of the model gets a number, from one pass forward and back over the "
        "sentences: about half a minute of one core for 300 sentences and the checkpoint en-fr.",
    )
    table = pd.DataFrame(found["table"]) if found else None
    with game:
        pruning.show(
            model, corpus, _guessed(model, spread(corpus, FEW)) if table is None else table
        )
        if table is None:
            st.caption(
                f"Who goes first was worked out just now, over {min(FEW, len(corpus))} sentences. "
                "**Measure the heads** below and it goes by all of them."
            )
    if table is not None:
        _gradients(model, corpus, table)
        _left_out(model, corpus, table)
        pruning.curves(model, corpus)
        pruning.gates(model)


@remembered()
def _guessed(model: Model, corpus: Corpus) -> pd.DataFrame:
    """Importance over a few sentences, a fraction of a second."""
    table, _ = REPORTS["importance"](model.translator, corpus, silent)
    return table


def _gradients(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    terms.heading("By the gradient", "Importance")
    within = st.toggle(
        "Compare within each layer",
        key="matter-within",
        help="Gradients grow from layer to layer, which says nothing of the heads. So the paper "
        "divides each layer's heads by the root of the sum of their squares.",
    )
    by = st.segmented_control(
        "A gate for each head and", list(GATES), format_func=GATES.__getitem__,
        default="sentence", required=True, key="matter-by",
    )  # fmt: skip
    whole, part = COLUMNS[by]
    shown = table[part] if within else table[whole] / table[whole].max()
    what = f"{'in the layer' if within else 'of the greatest'}, by {by}s"
    _three(model, corpus, table.assign(shown=shown), what, weights=True)
    st.caption(f"{ABOUT[by]} It is a guess at what happens without the head, from one pass.")
    _csv(table, "importance", model)


def _left_out(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    st.subheader("One head left out at a time")
    some = spread(corpus, ONE_BY_ONE)
    found = measured(
        model,
        some,
        "ablation",
        button="Leave out each head in its turn",
        about=f"{len(table)} heads over {len(some)} sentences, evenly from the corpus: for the "
        "checkpoint en-fr about 90 seconds of one core.",
    )
    if found is None:
        return
    left = pd.DataFrame(found["table"])
    hover = [
        f"{row.loss_change:+.4f} ({row.loss_low:+.4f} to {row.loss_high:+.4f})".replace("-", "−")
        for row in left.itertuples()
    ]
    _three(model, some, left.assign(shown=left["loss_change"], hover=hover), "nats a token")
    both = table.merge(left, on=["kind", "layer", "head"])
    ranks = {
        by: float(both[whole].corr(both["loss_change"], method="spearman"))
        for by, (whole, _) in COLUMNS.items()
    }
    worse = int((left["loss_low"] > 0).sum())
    better = int((left["loss_high"] < 0).sum())
    told = (
        f"Without **{worse}** of {len(left)} heads the loss surely grows, without **{better}** it "
        f"surely falls; of the other {len(left) - worse - better} these {len(some)} sentences "
        "cannot tell."
    )
    if not any(map(math.isnan, ranks.values())):
        each = " and ".join(f"**{rank:.2f}** by {by}s" for by, rank in ranks.items())
        told += f" Rank correlation with the gradient's importance: {each}."
    st.markdown(told.replace("-", "−"))
    st.caption(
        "Blue: worse without the head, the darker the worse (in dark colours, the "
        "brighter); orange: better without it. Intervals of 95% (paired "
        "bootstrap over sentences), in the hover text."
    )
    _csv(left, "left-out", model)


def _three(
    model: Model, corpus: Corpus, table: pd.DataFrame, what: str, *, weights: bool = False
) -> None:
    """A picture a kind of the column `shown`, all with the same colours."""
    limit = float(table["shown"].abs().max()) or 1.0
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        own = table[table["kind"] == kind]
        figure = _picture(model, corpus, what, kind, limit, weights, dark(), exact.on(), own)
        with column:
            st.markdown(f"**{label}**")
            chart(figure, f"{what}-{kind}")


@remembered()
def _picture(
    model: Model,
    corpus: Corpus,
    what: str,
    kind: str,
    limit: float,
    weights: bool,
    dark: bool,
    exactly: bool,
    _own: pd.DataFrame,
) -> go.Figure:
    heads, layers = sorted(_own["head"].unique()), sorted(_own["layer"].unique())
    shape = (len(layers), len(heads))
    figure = coloured(
        _own["shown"].to_numpy().reshape(shape),
        [str(counted(layer, exactly)) for layer in layers],
        [str(counted(head, exactly)) for head in heads],
        down="layer",
        across="head",
        what=what,
        limit=limit,
        weights=weights,
        dark=dark,
    )
    figure.update_layout(height=300, margin={"l": 48, "r": 4, "t": 8, "b": 48})
    if "hover" in _own:
        figure.update_traces(
            customdata=_own["hover"].to_numpy().reshape(shape),
            hovertemplate="layer %{y}, head %{x}<br>%{customdata}<extra></extra>",
        )
    return figure


def _csv(table: pd.DataFrame, name: str, model: Model) -> None:
    tables.csv("These figures (.csv)", lambda: table, file_name(name, model.name))
