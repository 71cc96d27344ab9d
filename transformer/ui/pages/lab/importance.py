"""Pruning: which heads matter over a corpus, and how many can be removed."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import silent
from transformer.analysis.findings.finding import spread
from transformer.analysis.reports import REPORTS
from transformer.figures.positions import table as coloured
from transformer.figures.state import KINDS
from transformer.measures.naming import display_number, file_name
from transformer.ui.pages.lab import pruning
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact, frame, tables, terms
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import measured
from transformer.ui.widgets.corpus import choose

GATES = {"sentence": "Sentence", "position": "Position"}
COLUMNS = {
    "sentence": ("importance", "normalised"),
    "position": ("position", "position_normalised"),
}
ABOUT = {
    "sentence": "E|∂L/∂ξ| of a gate ξ on each head, mean over sentences (Michel et al. 2019, "
    "equation 2). Effects of a head on different words of a sentence can cancel.",
    "position": "E|∂L/∂ξ| of a gate ξ on what each head writes at each position, mean over "
    "positions: what the code of Michel et al. 2019 computes. Nothing cancels.",
}
FEW = 8
"""Sentences for the pruning order until all are measured; en-fr takes 0.2 s for them."""
ONE_BY_ONE = 40
"""Sentences of the corpus over which each head is ablated in turn."""


def show(model: Model) -> None:
    """Draw the pruning of one sentence, then the importance of all heads over a corpus."""
    frame.lead_text(
        "A head may have a clear pattern and still change nothing. Prune heads, the least "
        "important first, until the translation **changes**. Which kind of attention needs its "
        "heads most?"
    )
    game = st.container()
    st.header("Which heads matter?")
    st.markdown(
        "There are two ways to measure this: the gradient of the loss with respect to a gate on "
        "the head, and the loss after the head is ablated."
    )
    corpus = choose(model)
    if corpus is None:
        return
    found = measured(
        model,
        corpus,
        "importance",
        button="Measure the heads",
        about="One forward and backward pass over the sentences gives a number for every head. For "
        "300 sentences and the checkpoint en-fr this takes about half a minute on one core.",
    )
    table = pd.DataFrame(found["table"]) if found else _estimate(model, spread(corpus, FEW))
    with game:
        pruning.show(model, corpus, table)
    if found is None:
        st.caption(
            f"Preview: the importance of the heads, and so the pruning order above, is estimated "
            f"from {min(FEW, len(corpus))} sentences. **Measure the heads** to use all of them."
        )
    _gradients(model, corpus, table)
    if found is not None:
        _left_out(model, corpus, table)
        pruning.curves(model, corpus)
        pruning.gates(model)


@cached()
def _estimate(model: Model, corpus: Corpus) -> pd.DataFrame:
    """Return the importance of all heads over a few sentences, in a fraction of a second."""
    table, _ = REPORTS["importance"](model.translator, corpus, silent)
    return table


def _gradients(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    terms.heading("Importance by gradient", "Importance")
    within = st.toggle(
        "Compare within each layer",
        key="matter-within",
        help="Gradients differ in size between layers for reasons unrelated to the heads. The "
        "paper therefore divides the values of each layer by their Euclidean norm.",
    )
    by = st.segmented_control(
        "One gate per head and", list(GATES), format_func=GATES.__getitem__,
        default="sentence", required=True, key="matter-by",
    )  # fmt: skip
    whole, part = COLUMNS[by]
    shown = table[part] if within else table[whole] / table[whole].max()
    what = f"{'within its layer' if within else 'relative to the maximum'}, by {by}s"
    _three(model, corpus, table.assign(shown=shown), what, weights=True)
    st.caption(f"{ABOUT[by]} It estimates the effect of removing the head, from one pass.")
    _csv(table, "importance", model)


def _left_out(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    st.header("Importance by ablation")
    some = spread(corpus, ONE_BY_ONE)
    found = measured(
        model,
        some,
        "ablation",
        button="Ablate each head in turn",
        about=f"Measures the loss without each of {len(table)} heads over {len(some)} sentences. "
        "For the checkpoint en-fr this takes about 90 seconds on one core.",
    )
    if found is None:
        return
    left = pd.DataFrame(found["table"])
    hover = [
        f"{row.loss_change:+.4f} ({row.loss_low:+.4f} to {row.loss_high:+.4f})".replace("-", "−")
        for row in left.itertuples()
    ]
    _three(model, some, left.assign(shown=left["loss_change"], hover=hover), "nats per token")
    both = table.merge(left, on=["kind", "layer", "head"])
    ranks = {
        by: float(both[whole].corr(both["loss_change"], method="spearman"))
        for by, (whole, _) in COLUMNS.items()
    }
    worse = int((left["loss_low"] > 0).sum())
    better = int((left["loss_high"] < 0).sum())
    told = (
        f"Ablating **{worse}** of {len(left)} heads significantly increases the loss, ablating "
        f"**{better}** significantly decreases it. For the other {len(left) - worse - better} "
        f"these {len(some)} sentences are not enough to tell."
    )
    if not any(map(math.isnan, ranks.values())):
        each = " and ".join(f"**{rank:.2f}** by {by}s" for by, rank in ranks.items())
        told += f" Rank correlation with the importance by gradient: {each}."
    st.markdown(told.replace("-", "−"))
    st.caption(
        "Blue: the loss is higher without the head; orange: it is lower. The hover text has 95% "
        "intervals (paired bootstrap over sentences)."
    )
    _csv(left, "left-out", model)


def _three(
    model: Model, corpus: Corpus, table: pd.DataFrame, what: str, *, weights: bool = False
) -> None:
    """Draw the column `shown` as one figure per kind, all with the same colour scale."""
    limit = float(table["shown"].abs().max()) or 1.0
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        own = table[table["kind"] == kind]
        figure = _picture(model, corpus, what, kind, limit, weights, dark(), exact.is_on(), own)
        with column:
            st.markdown(f"**{label}**")
            chart(figure, f"{what}-{kind}")


@cached()
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
        [str(display_number(layer, exactly)) for layer in layers],
        [str(display_number(head, exactly)) for head in heads],
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
