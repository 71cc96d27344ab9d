"""Importance: which heads matter over a corpus, by gradients and by ablation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import no_progress
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.reports import REPORTS
from transformer.figures.state import KINDS
from transformer.measures.kinds import AttentionKind
from transformer.measures.naming import file_name
from transformer.ui.pages.research.corpus import choose
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import tables
from transformer.ui.widgets.charts import head_heatmaps
from transformer.ui.widgets.computed import measured

GATE_LABELS = {"sentence": "Sentence", "position": "Position"}
COLUMNS = {
    "sentence": ("importance", "normalised"),
    "position": ("position", "position_normalised"),
}
DESCRIPTIONS = {
    "sentence": "It is E|∂L/∂ξ| of a gate ξ on each head, mean over sentences (Michel et al. 2019, "
    "equation 2). Effects of a head on different words of a sentence can cancel.",
    "position": "It is E|∂L/∂ξ| of a gate ξ on each head's output at each position, mean over "
    "positions: what the code of Michel et al. 2019 computes. Nothing cancels.",
}
PREVIEW_SENTENCES = 8
"""Number of sentences for the estimate before the measurement; en-fr takes 0.2 s."""
ABLATION_SENTENCES = 40
"""Number of sentences for the ablation of each head in turn."""


def show(model: Model) -> None:
    """Draw the importance of all heads over a corpus."""
    corpus = choose(model)
    if corpus is None:
        return
    picture = st.container()
    st.markdown(
        "A head may have a clear pattern and still change nothing. There are two ways to measure "
        "which heads matter: the gradient of the loss with respect to a gate on the head, and the "
        "loss after the head is ablated."
    )
    report = measured(
        model,
        corpus,
        "importance",
        button="Measure the heads",
        description="One forward and backward pass over the sentences gives a number for every "
        "head. For 300 sentences and the checkpoint en-fr this takes about half a minute on one "
        "core.",
    )
    table = (
        pd.DataFrame(report["table"])
        if report
        else _estimate(model, evenly_spaced(corpus, PREVIEW_SENTENCES))
    )
    with picture:
        _by_gradient(model, corpus, table)
    if report is None:
        picture.caption(
            f"Preview: the importance of the heads is estimated from "
            f"{min(PREVIEW_SENTENCES, len(corpus))} sentences. **Measure the heads** to use all of "
            "them."
        )
    if report is not None:
        _by_ablation(model, corpus, table)


@cached()
def _estimate(model: Model, corpus: Corpus) -> pd.DataFrame:
    """Return the importance of all heads over a few sentences, in a fraction of a second."""
    table, _ = REPORTS["importance"](model.translator, corpus, no_progress)
    return table


def _by_gradient(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    st.markdown(
        "The darker a head, the more the loss is estimated to change without it, by its gradient."
    )
    grids = st.container()
    settings = st.container(horizontal=True, vertical_alignment="bottom")
    per_layer = settings.toggle(
        "Compare within each layer",
        key="importance-per-layer",
        help="Gradients differ in size between layers for reasons unrelated to the heads. The "
        "paper therefore divides the values of each layer by their Euclidean norm.",
    )
    gate = settings.segmented_control(
        "One gate for each", list(GATE_LABELS), format_func=GATE_LABELS.__getitem__,
        default="sentence", required=True, key="importance-gate",
    )  # fmt: skip
    column, normalised_column = COLUMNS[gate]
    values = table[normalised_column] if per_layer else table[column] / table[column].max()
    quantity = "relative to its layer" if per_layer else "relative to the maximum"
    with grids:
        _grids(table.assign(shown=values), quantity, are_weights=True)
    st.caption(f"The estimate takes one pass. {DESCRIPTIONS[gate]}")
    _csv(table, "importance", model)


def _by_ablation(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    st.header("Importance by ablation")
    sample = evenly_spaced(corpus, ABLATION_SENTENCES)
    report = measured(
        model,
        sample,
        "ablation",
        button="Ablate each head in turn",
        description=f"Measures the loss without each of {len(table)} heads over {len(sample)} "
        "sentences. For the checkpoint en-fr this takes about 90 seconds on one core.",
    )
    if report is None:
        return
    ablations = pd.DataFrame(report["table"])
    hover = [
        f"{row.loss_change:+.4f} ({row.loss_low:+.4f} to {row.loss_high:+.4f})".replace("-", "−")
        for row in ablations.itertuples()
    ]
    _grids(ablations.assign(shown=ablations["loss_change"], hover=hover), "nats per token")
    merged = table.merge(ablations, on=["kind", "layer", "head"])
    ranks = {
        gate: float(merged[column].corr(merged["loss_change"], method="spearman"))
        for gate, (column, _) in COLUMNS.items()
    }
    worse = int((ablations["loss_low"] > 0).sum())
    better = int((ablations["loss_high"] < 0).sum())
    summary = (
        f"Ablating **{worse}** of {len(ablations)} heads significantly increases the loss, "
        f"ablating **{better}** significantly decreases it. For the other "
        f"{len(ablations) - worse - better} these {len(sample)} sentences are not enough to tell."
    )
    if not any(map(math.isnan, ranks.values())):
        correlations = " and ".join(
            f"**{rank:.2f}** with gates per {gate}" for gate, rank in ranks.items()
        )
        summary += f" Rank correlation with the importance by gradient: {correlations}."
    st.markdown(summary.replace("-", "−"))
    st.caption(
        "Blue: the loss is higher without the head; orange: it is lower. The hover text has 95% "
        "intervals (paired bootstrap over sentences)."
    )
    _csv(ablations, "left-out", model)


def _grids(table: pd.DataFrame, quantity: str, *, are_weights: bool = False) -> None:
    """Draw the table's column `shown` as one figure per kind; `quantity` is the legend."""
    n_heads = table["head"].nunique()

    def column(name: str) -> dict[AttentionKind, np.ndarray]:
        rows = {kind: table.loc[table["kind"] == kind, name] for kind in KINDS}
        return {kind: values.to_numpy().reshape(-1, n_heads) for kind, values in rows.items()}

    head_heatmaps(
        column("shown"),
        quantity,
        quantity,
        hover=column("hover") if "hover" in table else None,
        weights=are_weights,
    )


def _csv(table: pd.DataFrame, name: str, model: Model) -> None:
    tables.csv("These figures (.csv)", lambda: table, file_name(name, model.name))
