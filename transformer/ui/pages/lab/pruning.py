"""Pruning: how many heads of each kind can be removed before the translation changes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced, format_difference
from transformer.analysis.importance.ablation import Ablation, measure_without
from transformer.analysis.importance.pruning import heads_until_change, random_order, within_budgets
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.interval_chart import measurement_chart
from transformer.figures.state import KINDS
from transformer.inference.results import Translation
from transformer.measures.chart import Chart
from transformer.measures.head_codes import LETTERS
from transformer.measures.naming import file_name
from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import measured

LIVE_SENTENCES = 20
"""Number of sentences whose loss is measured whenever a slider moves."""
CURVE_SENTENCES = 60
"""Number of sentences for the curves and for BLEU."""
MAX_EXTRA_TOKENS = 12
"""Tokens by which a pruned model's translation may be longer; some never stop."""
CHART = Chart("off", "loss", "heads pruned", "loss (nats per token)", by="order")
ORDER_NAMES = {
    "sentence": "gates per sentence",
    "position": "gates per position",
    "random": "random",
}


def show(model: Model, corpus: Corpus, importance: pd.DataFrame) -> None:
    """Draw the pruning controls and their effect on the sentence and the corpus."""
    controls.sentence(model)
    order = _order(importance)
    _find_change_buttons(model, order)
    chosen = _pruning_controls(model, order)
    _sentence_result(model, chosen)
    _corpus_result(model, corpus, chosen)


def _order(importance: pd.DataFrame) -> list[Head]:
    view = state.view(Lab)
    measure = "position_normalised" if view.pruning_order == "position" else "normalised"
    ascending = importance.sort_values(measure, kind="stable")
    order: list[Head] = list(
        ascending[["kind", "layer", "head"]].itertuples(index=False, name=None)
    )
    return random_order(sorted(order), view.seed) if view.pruning_order == "random" else order


def _find_change_buttons(model: Model, order: Sequence[Head]) -> None:
    """Draw a button per kind that prunes its heads until the sentence's translation changes."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Prune until the translation changes:", width="content")
        for kind, label in KINDS.items():
            st.button(
                label,
                key=f"break-{kind}",
                type="primary" if kind == "cross" else "secondary",
                icon=":material/search:",
                on_click=_prune_until_change,
                args=(model, order, kind),
            )


def _prune_until_change(model: Model, order: Sequence[Head], kind: str) -> None:
    """Prune only heads of this kind, as few as change the translation, or all of them."""
    text, n_heads = state.view(Lab).text, sum(head[0] == kind for head in order)
    try:
        unpruned = _translated(model, text, (), None)
    except ValueError:
        return  # the page says what is wrong with the text
    max_len = len(unpruned.ids) + MAX_EXTRA_TOKENS

    def translate(n_pruned: int) -> str:
        if not n_pruned:
            return unpruned.text
        return _translated(
            model, text, tuple(within_budgets(order, {kind: n_pruned})), max_len
        ).text

    pruned = heads_until_change(translate, n_heads, model.n_heads)
    fields = {f"pruned_{other_kind}": 0 for other_kind in KINDS}
    state.change(**{**fields, f"pruned_{kind}": n_heads if pruned is None else pruned})


def _pruning_controls(model: Model, order: Sequence[Head]) -> list[Head]:
    """Draw the sliders and the pruning order. Return the pruned heads."""
    n_heads = model.n_layers * model.n_heads
    names = [f"pruned_{kind}" for kind in KINDS]
    for name in names:
        if getattr(state.view(Lab), name) > n_heads:
            state.set_fields(**{name: n_heads})
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        column.slider(f"{label}: heads pruned", 0, n_heads, **state.bound(f"pruned_{kind}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row(
            "pruning_order",
            help="Importance by gradient, normalised within each layer as in the paper: with one "
            "gate per sentence (its equation) or per position (its code).",
        )
        view = state.view(Lab)
        if view.pruning_order == "random":
            frame.state_button("New random order", "casino", {"seed": view.seed + 1})
        frame.state_button(
            "Restore all heads",
            "undo",
            dict.fromkeys(names, 0),
            disabled=not any(getattr(view, name) for name in names),
        )
    return within_budgets(order, {kind: getattr(view, f"pruned_{kind}") for kind in KINDS})


def _sentence_result(model: Model, heads: Sequence[Head]) -> None:
    """Draw the sentence's greedy translations by the full and by the pruned model."""
    text = state.view(Lab).text
    try:
        unpruned = _translated(model, text, (), None)
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    pruned = _translated(model, text, tuple(heads), len(unpruned.ids) + MAX_EXTRA_TOKENS)
    left_column, right_column = st.columns(2)
    left_column.markdown(f"With all heads: **{_translation_text(unpruned)}**")
    if heads:
        right_column.markdown(
            f"Without {len(heads)} {'head' if len(heads) == 1 else 'heads'}: "
            f"**{_translation_text(pruned)}**"
        )
        is_unchanged = unpruned.text == pruned.text
        right_column.caption(
            "The translation is unchanged." if is_unchanged else "The translation has changed."
        )
    frame.state_button(
        "Show what changed",
        "toggle_off",
        {"lab": "switch", "off": head_codes(heads), "ablation": "zero"},
        disabled=not heads,
        help="Opens “Switch off heads” with the same heads.",
    )


@cached()
def _translated(
    model: Model, text: str, heads: tuple[Head, ...], max_len: int | None
) -> Translation:
    """Translate without these heads. Raises ValueError for a text that is empty or too long."""
    hooks = switched_off(model.translator.model.config, heads) if heads else None
    return model.translator.translate(text, hooks=hooks, candidates=1, max_len=max_len)


def _translation_text(translation: Translation) -> str:
    if is_blank(translation.text):
        return "(empty)"
    return frame.plain(translation.text) + ("" if translation.finished else " …")


def _corpus_result(model: Model, corpus: Corpus, heads: Sequence[Head]) -> None:
    """Draw the loss over a few sentences, and loss and BLEU over more after a click."""
    if not heads:
        return
    sample, codes = evenly_spaced(corpus, LIVE_SENTENCES), head_codes(heads)
    newest: trace_cache.NewestRerun = st.session_state.setdefault(
        "newest_pruning", trace_cache.NewestRerun()
    )
    number = newest.next_number()
    with newest.lock:
        newest.check(number)  # while a slider is dragged, only its last value is measured
        ablation = _cached_ablation(model, sample, tuple(heads))
    change = ablation.loss_changes[0]
    st.metric(
        f"Loss over {len(sample)} sentences (nats per token)",
        f"{ablation.loss + change.value:.3f}",
        f"{change.value:+.3f}",
        delta_color="inverse",
    )
    st.caption(
        f"{ablation.loss:.3f} with all heads. The change is {format_difference(change, 3)} "
        "(bootstrap over the sentences)."
    )
    larger_sample = evenly_spaced(corpus, CURVE_SENTENCES)
    report = measured(
        model,
        larger_sample,
        "without",
        {"heads": codes, "bleu": True},
        button=f"BLEU over {len(larger_sample)} sentences",
    )
    if report is not None:
        row = report["table"][0]
        summary = (
            f"Over {len(larger_sample)} sentences: BLEU **{row['bleu']:.1f}** instead of "
            f"{report['bleu']:.1f} (95% interval of the change: {row['bleu_low']:+.1f} to "
            f"{row['bleu_high']:+.1f}), loss {row['loss']:.3f} instead of {report['loss']:.3f}."
        )
        st.markdown(summary.replace("-", "−"))


@cached()
def _cached_ablation(model: Model, corpus: Corpus, heads: tuple[Head, ...]) -> Ablation:
    return measure_without(model.translator, corpus, [heads])


def curves(model: Model, corpus: Corpus) -> None:
    """Draw the loss as each kind alone is pruned, by importance and in random order."""
    sample = evenly_spaced(corpus, CURVE_SENTENCES)
    st.markdown("**Each kind pruned alone, in order of importance and in random order**")
    report = measured(
        model,
        sample,
        "pruning-kinds",
        button="Draw the curves",
        description=f"Measures the loss over {len(sample)} sentences as the heads of one kind are "
        "pruned. For the checkpoint en-fr this takes about 80 seconds on one core.",
    )
    if report is None:
        return
    table = pd.DataFrame(report["table"])
    highest = float(table["high"].max())
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        slider_value = getattr(state.view(Lab), f"pruned_{kind}")
        rows = table[table["kind"] == kind]
        rows = rows.assign(order=rows["order"].map(ORDER_NAMES))
        figure = _curve(model, sample, kind, slider_value, highest, dark(), rows)
        with column:
            st.markdown(label)
            chart(figure, f"prune-{kind}")
    st.caption(
        "Bars: the 95% interval over sentences for the two orders by importance, and the range of "
        "three orders for random. The vertical line marks your slider."
    )
    tables.csv("These curves (.csv)", lambda: table, file_name("pruning", model.name))


@cached()
def _curve(
    model: Model,
    corpus: Corpus,
    kind: str,
    slider_value: int,
    highest: float,
    dark: bool,
    _rows: pd.DataFrame,
) -> go.Figure:
    """Return the figure, which is cached for all reruns that do not move this slider."""
    figure = measurement_chart(_rows, CHART, marked_x=slider_value, dark=dark)
    figure.update_yaxes(range=[0, 1.05 * highest])
    return figure


def head_codes(heads: Sequence[Head]) -> str:
    """Return heads in the form of the address field `off`, like "e3.2,c5.1"."""
    return ",".join(f"{LETTERS[kind]}{layer}.{head}" for kind, layer, head in sorted(heads))
