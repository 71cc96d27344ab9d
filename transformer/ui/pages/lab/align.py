"""Word alignment read from heads, compared with gold links: a leaderboard, then one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.alignment.leaderboard import ALIGNMENT_METHODS
from transformer.analysis.corpora import Corpus
from transformer.figures.glossary import tip
from transformer.figures.headgrid import Grid, headgrid_data
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import ROW_LABELS, SCORE_LABELS, Lab, align_sentence
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import bundled_sentences, computed, corpus, display_names, frame, tables
from transformer.ui.widgets.views import component

DESCRIPTION = (
    "Scores every cross-attention head as a word aligner over the sentences with gold links. This "
    "takes a few seconds per hundred sentences."
)
_grid = component("headgrid")

# Columns of the table of heads on published links; `aligner_head.METHODS` are its keys.
METHOD_LABELS = {
    f"{score_kind}-{row}": f"{SCORE_LABELS[score_kind]}, {ROW_LABELS[row]}"
    for score_kind in SCORE_LABELS
    for row in ROW_LABELS
}


def show(model: Model) -> None:
    frame.lead_text(
        "Cross-attention often points from each word to the word it is translated from. How often? "
        "Compare it with **gold links**, human-made links between words."
    )
    align_sentence.open_aligner(model)
    texts = corpus.choose(model)
    leaderboard = None
    if texts is not None and texts.n_gold:
        leaderboard = computed.measured_or_preview(
            model, texts, "alignment", description=DESCRIPTION, linked=True
        )
    elif texts is not None:
        st.info(
            "These sentences have no gold links, so heads cannot be scored over them. "
            f"{bundled_sentences.advice_on_links(model)} You can add links for one sentence below."
        )
    if texts is not None and leaderboard is not None:
        _leaderboard(model, leaderboard, texts)
    _published_gold(model)
    align_sentence.show(model, texts, leaderboard)


def _leaderboard(model: Model, leaderboard: Mapping[str, Any], texts: Corpus) -> None:
    table = pd.DataFrame(leaderboard["table"])
    heads, layers = (table[table["aligner"] == name] for name in ("head", "layer"))
    best, layer = heads.iloc[0], layers.iloc[0]
    view = state.view(Lab)
    chosen_by_default = st.session_state.pop(
        align_sentence.DEFAULT_HEAD_KEY, None
    ) == align_sentence.selected_row(view)
    # A head of another kind, selected on another page, is not an aligner.
    if chosen_by_default or view.layer < 0 or view.head < 0 or view.kind != "cross":
        best_head = {"layer": int(best["layer"]), "head": int(best["head"])}
        state.set_fields(**best_head, kind="cross", score_kind=best["by"], target_row=best["to"])
    rates = table.set_index("aligner")["aer"]
    agreements = {
        f"Best head: {display_names.head(int(best['layer']), int(best['head']))}": best["aer"],
        f"Best layer, mean of its heads: {display_names.number(int(layer['layer']))}": layer["aer"],
        "IBM model 1": rates.get("model 1"),  # older results have none
        "IBM model 1, diagonal prior": rates["statistical"],
        "Diagonal": rates["diagonal"],
        "Random": rates["chance"],
    }
    with st.container(horizontal=True, key="figures"):
        for name, rate in agreements.items():
            if rate is None:
                continue
            st.metric(name, f"{100 * (1 - rate):.1f}%", width="content", help=tip("AER"))
    left_out = len(leaderboard["left_out"])
    st.caption(
        "Agreement with the gold links: 100% minus the alignment error rate (AER, Och and Ney "
        "2003). Each target word is linked to the source word with the highest score, over "
        f"{leaderboard['counted']:,} sentences with gold links"
        + (
            f"; {left_out:,} were left out because their spelling differs from their links. "
            if left_out
            else ". "
        )
        + f"IBM model 1, alone and with a diagonal prior, trained on {leaderboard['taught']:,} "
        f"pairs without their links. The best head is measured {SCORE_LABELS[best['by']]}, "
        f"{ROW_LABELS[best['to']]}."
    )
    if texts.target == "fr" and view.corpus != "linked" and not model.description.kind:
        st.caption(
            "These sentences come from templates with nearly the same word order in both "
            "languages. **Hand-aligned** has real sentences with more reordering."
        )
    _grids(model, heads)
    _selected_head(heads)
    with st.expander(f"All {len(table)} aligners as a table"):
        st.dataframe(table, hide_index=True, height=420)
    tables.csv("The leaderboard (.csv)", lambda: table, file_name("aligners", model.name))
    display_names.python_code(
        "The leaderboard from Python",
        f"""from transformer import Translator
from transformer.analysis.alignment.leaderboard import leaderboard
from transformer.analysis.corpora import Corpus

translator = Translator.load({str(models.public_path(model.name))!r})
board = leaderboard(translator, {corpus.python_code(model, texts)})
print(board.table)""",
    )


def _grids(model: Model, heads: pd.DataFrame) -> None:
    view = state.view(Lab)
    grids = []
    for score_kind, target_row in ALIGNMENT_METHODS:
        scores = heads[(heads["by"] == score_kind) & (heads["to"] == target_row)].sort_values(
            ["layer", "head"]
        )
        rates = scores["aer"].to_numpy(dtype=np.float64).reshape(model.n_layers, model.n_heads)
        labels = [[f"{100 * (1 - rate):.0f}" for rate in layer_rates] for layer_rates in rates]
        hover = [
            [
                f"{display_names.head(layer, head).capitalize()}: {100 * (1 - rate):.1f}% agreement"
                for head, rate in enumerate(layer_rates)
            ]
            for layer, layer_rates in enumerate(rates)
        ]
        grids.append(
            Grid(
                f"{score_kind}-{target_row}",
                f"{SCORE_LABELS[score_kind]}, {ROW_LABELS[target_row]}".capitalize(),
                100 * (1 - rates),
                labels,
                hover,
            )
        )
    data = headgrid_data(
        grids,
        low=0.0,
        high=max(float(grid.values.max()) for grid in grids) or 100.0,
        legend="Agreement with the gold links in percent; one row per layer, one column per head. "
        "Click a cell to use that head for the sentence below.",
        chosen=(f"{view.score_kind}-{view.target_row}", view.layer, view.head),
        large=view.size == "large",
        exact=display_names.is_exact(),
    )
    _grid(key="aligners", data=data, on_choice_change=_select_cell)


def _selected_head(heads: pd.DataFrame) -> None:
    """Show which head is used below, with a button for the best one."""
    view, best = state.view(Lab), heads.iloc[0]
    rows = heads[(heads["by"] == view.score_kind) & (heads["to"] == view.target_row)]
    row = rows[(rows["layer"] == view.layer) & (rows["head"] == view.head)]
    if row.empty:
        return
    agreement = 100 * (1 - row.iloc[0]["aer"])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"Shown below: **{display_names.head(view.layer, view.head)}**, measured "
            f"{SCORE_LABELS[view.score_kind]}, {ROW_LABELS[view.target_row]}: "
            f"{agreement:.1f}% agreement.",
            width="content",
        )
        if int(row.index[0]) != int(heads.index[0]):
            frame.state_button(
                "Show the best head",
                "trophy",
                {
                    "layer": int(best["layer"]),
                    "head": int(best["head"]),
                    "score_kind": best["by"],
                    "target_row": best["to"],
                },
            )


def _published_gold(model: Model) -> None:
    """Show how the model's aligner head scored on published human-made links."""
    aligner = model.aligner
    if aligner is None:
        st.caption(
            "This model's heads have not been evaluated on human-made links. "
            "`python -m benchmarks.gold_alignments` evaluates them and stores the best head."
        )
        return
    name = display_names.head(aligner.layer, aligner.head)
    for gold in aligner.gold:
        error_rates = {
            "the diagonal": gold.baselines["diagonal"],
            "IBM model 1": gold.baselines["model 1"],
            "with a diagonal prior": gold.baselines["statistical"],
        }
        baselines = ", ".join(
            f"{baseline} {100 * (1 - rate):.1f}%" for baseline, rate in error_rates.items()
        )
        agreement = 1 - gold.head[f"{aligner.score_kind}-{aligner.target_row}"]
        st.caption(
            f"**On human-made links** ({frame.plain(gold.source)}; {gold.sentences:,} pairs, not "
            f"included in the app) the best head is {name}, measured "
            f"{SCORE_LABELS[aligner.score_kind]}, {ROW_LABELS[aligner.target_row]}: "
            f"{100 * agreement:.1f}% agreement (95%: "
            f"{100 * (1 - gold.high):.1f} to {100 * (1 - gold.low):.1f}). For comparison: "
            f"{baselines}. The bundled sentences are short and similar, so heads score better on "
            "them. Other published aligners, on another corpus (Hansards): fast_align 89.5%, "
            "awesome-align 95.9%."
        )
        table = gold.table()
        if not table.empty:
            with st.expander(f"All {len(table)} heads on these links (AER, %)"):
                st.dataframe(
                    table,
                    hide_index=True,
                    height=420,
                    column_config={
                        method: st.column_config.NumberColumn(label, format="%.1f")
                        for method, label in METHOD_LABELS.items()
                    },
                )
            name_of_file = file_name(f"aligners-{gold.name}", model.name)
            tables.csv(f"Heads on {gold.name} (.csv)", gold.table, name_of_file)


def _select_cell() -> None:
    choice = st.session_state["aligners"]["choice"]
    score_kind, target_row = choice["grid"].split("-")
    state.change(
        kind="cross",
        layer=int(choice["row"]),
        head=int(choice["column"]),
        score_kind=score_kind,
        target_row=target_row,
    )
