"""BLEU by hand: the visitor's own pair, n-gram by n-gram (Papineni et al. 2002)."""

from __future__ import annotations

from html import escape

import streamlit as st

from transformer.analysis.inside.bleu_by_hand import BleuByHand, NGramCounts, bleu
from transformer.text.visible import is_blank
from transformer.ui import frame, state, trace_cache
from transformer.ui.models import Model


def show(model: Model) -> None:
    """The whole section."""
    view = state.view()
    output = trace_cache.read(model, view).trace.text
    st.markdown(
        "How near is a translation to a right one? BLEU counts: which runs of one, two, three and "
        "four words of the output stand in the reference too? A run counts at most as often as the "
        "reference has it. An output that is too short is made to pay."
    )
    st.text_input(
        "The right translation, the reference",
        placeholder="Write one",
        live="400ms",
        **state.bound("target"),
    )
    if is_blank(view.target):
        said = frame.plain(output) or "nothing"
        st.info(f"The model says: **{said}** Write what would be right, and see what it is worth.")
        return
    found = bleu(output, view.target)
    if not found.output:
        raise ValueError("The model says nothing here, and BLEU needs an output of a word or more.")
    c, r = len(found.output), len(found.reference)
    st.html(
        f'<p class="hu-reads">The output, c = {c} words: {_said(found.output)}'
        f"<br>The reference, r = {r}: {_said(found.reference)}</p>"
    )
    st.html(_table(found))
    _worked(found)
    st.caption(
        "The words are those that sacrebleu’s “13a” cuts, and the figure is that of its "
        "`sentence_bleu`. Where an n matches nothing, half a match stands in for it, a quarter for "
        "the next such n: or one miss would make everything 0. An n that the output is too short "
        "for does not count. Of a test set the matches of all sentences are added up before "
        "anything is divided; the BLEU of one sentence is a rough thing, and no mean of these is "
        "the BLEU of a corpus."
    )


def _said(words: tuple[str, ...]) -> str:
    return " ".join(f"<b>{escape(word)}</b>" for word in words)


def _table(found: BleuByHand) -> str:
    """A row an n: its grams, those that count marked."""
    rows = "".join(
        f'<tr><th scope="row">{order.n}</th><td class="hu-reads">{_grams(order)}</td>'
        f"<td>{order.matched} / {order.total}</td><td>{_precision(order)}</td></tr>"
        for order in found.orders
    )
    heads = "".join(
        f'<th scope="col">{head}</th>'
        for head in ("n", "runs of the output; struck out: not in the reference", "count", "p_n")
    )
    return (
        '<div style="overflow-x: auto" tabindex="0"><table class="hu-table hu-shifted">'
        "<caption>Every run of n words, and whether the reference has it</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _grams(order: NGramCounts) -> str:
    parts = []
    for gram, count, clipped in order.grams:
        words = escape(" ".join(gram))
        shown = f"<b>{words}</b>" if clipped else f"<s>{words}</s>"
        if clipped and clipped < count:
            shown += f" (counts {clipped} of {count} times)"
        elif count > 1:
            shown += f" × {count}"
        parts.append(f'<span style="white-space: nowrap">{shown}</span>')
    return " · ".join(parts) or "the output has no such run"


def _precision(order: NGramCounts) -> str:
    if not order.total:
        return "–"
    if not order.matched:
        return f"{order.smoothed:g} / {order.total} = {order.precision:.3f}"
    return f"{order.precision:.3f}"


def _worked(found: BleuByHand) -> None:
    """Brevity penalty, geometric mean, and their product."""
    c, r = len(found.output), len(found.reference)
    penalty = r"1\quad(c \ge r)" if c >= r else rf"e^{{1 - {r}/{c}}} = {found.brevity:.4f}"
    counted = found.counted
    product = r" \cdot ".join(f"{order.precision:.3f}" for order in counted)
    st.latex(rf"\mathrm{{BP}} = {penalty}")
    if not found.mean:
        st.latex(r"\text{no word in common:}\quad \mathrm{BLEU} = 0")
        return
    st.latex(
        rf"\Big(\prod_{{n=1}}^{{{len(counted)}}} p_n\Big)^{{1/{len(counted)}}} = "
        rf"({product})^{{1/{len(counted)}}} = {found.mean:.4f}"
    )
    st.latex(
        rf"\mathrm{{BLEU}} = 100 \cdot {found.brevity:.4f} \cdot {found.mean:.4f} "
        rf"= \mathbf{{{found.score:.1f}}}"
    )
