"""Word alignment read from heads, compared with gold links: a leaderboard, then one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.alignment.leaderboard import WAYS
from transformer.analysis.corpora import Corpus
from transformer.figures.glossary import tip
from transformer.figures.headgrid import Grid, headgrid_data
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import BY, TO, Lab, align_sentence
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import computed, corpus, exact, frame, own_sentences, tables
from transformer.ui.widgets.views import component

ABOUT = (
    "Scores every cross-attention head as a word aligner over the sentences with gold links. This "
    "takes a few seconds per hundred sentences."
)
_grid = component("headgrid")


def show(model: Model) -> None:
    frame.lead_text(
        "Cross-attention often points from each word to the word it is translated from. How often? "
        "Compare it with **gold links**, word alignments made by hand."
    )
    align_sentence.open_aligner(model)
    texts = corpus.choose(model)
    found = None
    if texts is not None and texts.n_gold:
        found = computed.measured_or_preview(model, texts, "alignment", about=ABOUT, linked=True)
    elif texts is not None:
        st.info(
            "These sentences have no gold links, so heads cannot be scored over them. "
            f"{own_sentences.with_links(model)} You can add links for one sentence below."
        )
    if texts is not None and found is not None:
        _board(model, found, texts)
    _by_people(model)
    align_sentence.show(model, texts, found)


def _board(model: Model, found: Mapping[str, Any], texts: Corpus) -> None:
    table = pd.DataFrame(found["table"])
    heads, layers = (table[table["aligner"] == name] for name in ("head", "layer"))
    best, layer = heads.iloc[0], layers.iloc[0]
    view = state.view(Lab)
    unasked = st.session_state.pop(align_sentence.UNASKED, None) == align_sentence.drawn(view)
    # A head of another kind was chosen elsewhere, and is another.
    if unasked or view.layer < 0 or view.head < 0 or view.kind != "cross":
        place = {"layer": int(best["layer"]), "head": int(best["head"])}
        state.set_fields(**place, kind="cross", by=best["by"], to=best["to"])
    rates = table.set_index("aligner")["aer"]
    told = {
        f"Best head: {exact.head(int(best['layer']), int(best['head']))}": best["aer"],
        f"Best layer, mean of its heads: {exact.number(int(layer['layer']))}": layer["aer"],
        "IBM model 1": rates.get("model 1"),  # results of before have none
        "IBM model 1, diagonal prior": rates["statistical"],
        "Diagonal": rates["diagonal"],
        "Random": rates["chance"],
    }
    with st.container(horizontal=True, key="figures"):
        for name, rate in told.items():
            if rate is None:
                continue
            st.metric(name, f"{100 * (1 - rate):.1f} %", width="content", help=tip("AER"))
    left_out = len(found["left_out"])
    st.caption(
        "Agreement with the gold links: 100 % minus the alignment error rate (AER, Och and Ney "
        "2003). Each target word is linked to the source word with the highest score, over "
        f"{found['counted']:,} sentences with gold links"
        + (
            f"; {left_out:,} were left out because their spelling differs from their links. "
            if left_out
            else ". "
        )
        + f"IBM model 1, alone and with a diagonal prior, trained on {found['taught']:,} pairs "
        "without their links. "
        f"The best head is read {BY[best['by']]}, {TO[best['to']]}."
    )
    if texts.target == "fr" and view.corpus != "linked" and not model.about.kind:
        st.caption(
            "These sentences come from templates with nearly the same word order in both "
            "languages. **Hand-aligned** has real sentences with more reordering."
        )
    _grids(model, heads)
    _drawn(heads)
    with st.expander(f"All {len(table)} aligners as a table"):
        st.dataframe(table, hide_index=True, height=420)
    tables.csv("The leaderboard (.csv)", lambda: table, file_name("aligners", model.name))
    exact.python_code(
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
    for by, to in WAYS:
        own = heads[(heads["by"] == by) & (heads["to"] == to)].sort_values(["layer", "head"])
        rates = own["aer"].to_numpy(dtype=np.float64).reshape(model.n_layers, model.n_heads)
        marks = [[f"{100 * (1 - rate):.0f}" for rate in line] for line in rates]
        told = [
            [
                f"{exact.head(at, head).capitalize()}: {100 * (1 - rate):.1f} % agreement"
                for head, rate in enumerate(line)
            ]
            for at, line in enumerate(rates)
        ]
        grids.append(Grid(f"{by}-{to}", f"{BY[by]}, {TO[to]}".capitalize(), 1 - rates, marks, told))
    data = headgrid_data(
        grids,
        low=0.0,
        high=max(float(grid.values.max()) for grid in grids) or 1.0,
        legend="Agreement with the gold links in percent, darker for better; one row per layer, "
        "one column per head. Click a cell to use that head for the sentence below",
        chosen=(f"{view.by}-{view.to}", view.layer, view.head),
        large=view.size == "large",
        exact=exact.is_on(),
    )
    _grid(key="aligners", data=data, on_choice_change=_taken)


def _drawn(heads: pd.DataFrame) -> None:
    """Say which head is shown below, with a button for the best one."""
    view, best = state.view(Lab), heads.iloc[0]
    lines = heads[(heads["by"] == view.by) & (heads["to"] == view.to)]
    own = lines[(lines["layer"] == view.layer) & (lines["head"] == view.head)]
    if own.empty:
        return
    right = 100 * (1 - own.iloc[0]["aer"])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"Shown below: **{exact.head(view.layer, view.head)}**, read {BY[view.by]}, "
            f"{TO[view.to]}: {right:.1f} % agreement.",
            width="content",
        )
        if int(own.index[0]) != int(heads.index[0]):
            frame.state_button(
                "Show the best head",
                "trophy",
                {
                    "layer": int(best["layer"]),
                    "head": int(best["head"]),
                    "by": best["by"],
                    "to": best["to"],
                },
            )


def _by_people(model: Model) -> None:
    """What the model's aligner head was measured to do on links made by people."""
    aligner = model.aligner
    if aligner is None:
        st.caption(
            "Nobody has measured this model's heads against links made by people. "
            "`python -m benchmarks.gold_alignments` does, and keeps the best head."
        )
        return
    name = exact.head(aligner.layer, aligner.head)
    for gold in aligner.gold:
        rates = {
            "the diagonal": gold.baselines["diagonal"],
            "IBM model 1": gold.baselines["model 1"],
            "with a diagonal prior": gold.baselines["statistical"],
        }
        others = ", ".join(f"{who} {100 * (1 - rate):.1f} %" for who, rate in rates.items())
        own = 1 - gold.head[f"{aligner.by}-{aligner.to}"]
        st.caption(
            f"**On links made by people** ({frame.plain(gold.source)}; {gold.sentences:,} pairs, "
            f"which are not part of the app) the best head is {name}, read {BY[aligner.by]}, "
            f"{TO[aligner.to]}: {100 * own:.1f} % agreement (95 %: {100 * (1 - gold.high):.1f} to "
            f"{100 * (1 - gold.low):.1f}). There {others}. Sentences of ours are short and alike, "
            "so heads look better on them. Other published aligners, on another corpus "
            "(Hansards): fast_align 89.5 %, awesome-align 95.9 %."
        )


def _taken() -> None:
    told = st.session_state["aligners"]["choice"]
    by, to = told["grid"].split("-")
    state.change(kind="cross", layer=int(told["row"]), head=int(told["column"]), by=by, to=to)
