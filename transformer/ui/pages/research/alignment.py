"""Word alignment: the best head compared with other aligners, then one sentence."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.alignment.aligner_head import AlignerHead, GoldErrors
from transformer.measures import naming
from transformer.ui.pages.research import ROW_LABELS, SCORE_LABELS, sentence_alignment
from transformer.ui.services.models import Model
from transformer.ui.widgets import tables

PUBLISHED = {"fast_align": 0.105, "awesome-align": 0.041}
"""Alignment error rates on the Hansards, English–French (Dou and Neubig 2021)."""
PUBLISHED_LINKS = "Hansards, another corpus (Dou and Neubig 2021)"


def show(model: Model) -> None:
    sentence_alignment.open_aligner(model)
    sentence_alignment.show(model)
    st.header("Compared with other aligners")
    if model.aligner is None:
        st.caption(
            "This model's heads have not been evaluated on human-made links. "
            "`python -m benchmarks.gold_alignments` evaluates them and stores the best head."
        )
    else:
        _comparison(model.aligner)


def _comparison(aligner: AlignerHead) -> None:
    """Draw the agreement of the aligner head, of other aligners, and of published ones."""
    name = naming.head_name(aligner.layer, aligner.head).capitalize()
    rows = [row for gold in aligner.gold for row in _rows(aligner, gold, name)]
    rows += [(label, _agreement(rate), PUBLISHED_LINKS) for label, rate in PUBLISHED.items()]
    tables.show("Agreement with human-made links", ["Aligner", "Agreement", "Links"], rows)
    st.caption(
        "Agreement is 100% minus the alignment error rate (AER, Och and Ney 2003). Each target "
        "word is linked to one source word. The best head is measured "
        f"{SCORE_LABELS[aligner.score_kind]}, {ROW_LABELS[aligner.target_row]}. The "
        "diagonal links words at the same relative position. The links are not included in the app."
    )


def _rows(aligner: AlignerHead, gold: GoldErrors, name: str) -> list[tuple[str, str, str]]:
    best = gold.head[f"{aligner.score_kind}-{aligner.target_row}"]
    interval = f"{_agreement(best)} (95%: {_agreement(gold.high)} to {_agreement(gold.low)})"
    aligners = {
        f"Best head: {name}": interval,
        "Diagonal": _agreement(gold.diagonal),
    }
    links = f"{gold.source}; {gold.sentences:,} pairs"
    return [(label, agreement, links) for label, agreement in aligners.items()]


def _agreement(error_rate: float) -> str:
    return f"{100 * (1 - error_rate):.1f}%"
