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
from transformer.measures import naming
from transformer.measures.kinds import AttentionKind
from transformer.measures.naming import file_name
from transformer.ui.pages.research import experiment
from transformer.ui.pages.research.corpus import choose
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
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
GATE_KEY, PER_LAYER_KEY = "importance-gate", "importance-per-layer"
PREVIEW_SENTENCES = 8
"""Number of sentences for the estimate before the measurement; en-fr takes 0.2 s."""
ABLATION_SENTENCES = 40
"""Number of sentences for the ablation of each head in turn."""
SMALL_SHARE = 0.1
"""A head below this share of the greatest importance counts as unimportant in the sentence."""


def show(model: Model) -> None:
    """Draw the importance of all heads over a corpus."""
    picture = st.container()
    corpus = choose(model)
    if corpus is None:
        return
    report = measured(
        model,
        corpus,
        "importance",
        button="Measure the heads",
        description="One forward and backward pass over the sentences gives a number for every "
        "head. For 300 sentences and the checkpoint en-fr this takes about half a minute on one "
        "core.",
    )
    if report is None:
        with picture:
            sample = evenly_spaced(corpus, PREVIEW_SENTENCES)
            _by_gradient(model, corpus, _estimate(model, sample))
            st.caption(
                f"Preview: the importance of the heads is estimated from {len(sample)} sentences. "
                "**Measure the heads** to use all of them."
            )
        return
    table = pd.DataFrame(report["table"])
    with picture:
        _by_gradient(model, corpus, table)
    _by_ablation(model, corpus, table)


@cached()
def _estimate(model: Model, corpus: Corpus) -> pd.DataFrame:
    """Return the importance of all heads over a few sentences, in a fraction of a second."""
    table, _ = REPORTS["importance"](model.translator, corpus, no_progress)
    return table


def _by_gradient(model: Model, corpus: Corpus, table: pd.DataFrame) -> None:
    gate = st.session_state.get(GATE_KEY) or "sentence"
    per_layer = bool(st.session_state.get(PER_LAYER_KEY))
    column, normalised_column = COLUMNS[gate]
    values = table[normalised_column] if per_layer else table[column] / table[column].max()
    kind, layer, head = table.iloc[int(values.argmax())][["kind", "layer", "head"]].tolist()
    name = f"{KINDS[kind].lower()}, {naming.head_name(layer, head)}"
    small = int((values < SMALL_SHARE * values.max()).sum())
    experiment.show(
        experiment.Result(
            "Importance by gradient",
            f"By its gradient, **{name}** matters most; {small} of {len(table)} heads have less "
            f"than {SMALL_SHARE:.0%} of its importance.",
            lambda: _draw_gradient(table.assign(shown=values), per_layer),
            "The darker a head, the more the loss is estimated to change without it. The estimate "
            f"takes one pass. {DESCRIPTIONS[gate]}",
            table,
            file_name("importance", model.name),
            experiment.report_program(model, corpus, "importance"),
        )
    )


def _draw_gradient(table: pd.DataFrame, per_layer: bool) -> None:
    """Draw the table's column `shown`, and the choice of its definition."""
    quantity = "relative to its layer" if per_layer else "relative to the maximum"
    _grids(table, quantity, are_weights=True)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.toggle(
            "Compare within each layer",
            key=PER_LAYER_KEY,
            help="Gradients differ in size between layers for reasons unrelated to the heads. The "
            "paper therefore divides the values of each layer by their Euclidean norm.",
        )
        st.segmented_control(
            "One gate for each", list(GATE_LABELS), format_func=GATE_LABELS.__getitem__,
            default="sentence", required=True, key=GATE_KEY,
        )  # fmt: skip


def _by_ablation(model: Model, corpus: Corpus, by_gradient: pd.DataFrame) -> None:
    st.header("Importance by ablation")
    sample = evenly_spaced(corpus, ABLATION_SENTENCES)
    report = measured(
        model,
        sample,
        "ablation",
        button="Ablate each head in turn",
        description=f"Measures the loss without each of {len(by_gradient)} heads over "
        f"{len(sample)} sentences. For the checkpoint en-fr this takes about 90 seconds on one "
        "core.",
    )
    if report is None:
        return
    table = pd.DataFrame(report["table"])
    worse = int((table["loss_low"] > 0).sum())
    better = int((table["loss_high"] < 0).sum())
    experiment.show(
        experiment.Result(
            "Importance by ablation",
            f"Ablating **{worse}** of {len(table)} heads significantly increases the loss, "
            f"ablating **{better}** significantly decreases it; for the other "
            f"{len(table) - worse - better} these {len(sample)} sentences are not enough to tell.",
            lambda: _draw_ablation(table),
            "Blue: the loss is higher without the head; orange: it is lower. The hover text has "
            "95% intervals (paired bootstrap over sentences). "
            f"{_rank_correlations(table, by_gradient)}",
            table,
            file_name("left-out", model.name),
            experiment.report_program(model, corpus, "ablation", ABLATION_SENTENCES),
        )
    )


def _draw_ablation(table: pd.DataFrame) -> None:
    hover = [
        f"{row.loss_change:+.4f} ({row.loss_low:+.4f} to {row.loss_high:+.4f})".replace("-", "−")
        for row in table.itertuples()
    ]
    _grids(table.assign(shown=table["loss_change"], hover=hover), "change of the loss")


def _rank_correlations(ablations: pd.DataFrame, by_gradient: pd.DataFrame) -> str:
    """Return a sentence on how alike both measures order the heads; "" if one is constant."""
    merged = by_gradient.merge(ablations, on=["kind", "layer", "head"])
    sentence, position = (
        float(merged[column].corr(merged["loss_change"], method="spearman"))
        for column, _ in COLUMNS.values()
    )
    if math.isnan(sentence) or math.isnan(position):
        return ""
    return (
        f"Rank correlation with the importance by gradient: {sentence:.2f} with a gate for each "
        f"sentence, {position:.2f} with one for each position."
    ).replace("-", "−")


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
