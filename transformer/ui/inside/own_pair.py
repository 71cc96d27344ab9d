"""A pair of the visitor's own: shifted right by one, as training sees it; and its BLEU by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.inside import shifted
from transformer.analysis.inside.bleu_by_hand import BleuByHand, NGramCounts, bleu
from transformer.text.visible import is_blank
from transformer.ui import frame, state, trace_cache
from transformer.ui.kit import controls, exact
from transformer.ui.models import Model

_HEADS = ("t", "the decoder reads", "it should say", "probability", "loss", "it would say")


def shifted_right(model: Model) -> None:
    view = state.view()
    st.markdown(
        "In training nothing is decoded. The right translation goes in, moved one place to the "
        "right behind `<s>`, and every position is asked at once for the token that comes next: "
        "the mask keeps it from seeing it. A wrong guess does not spoil what follows."
    )
    st.text_input(
        model.about.target,
        placeholder=controls.suggested(model),
        live="400ms",
        **state.bound("target"),
    )
    target: str | Sequence[int] = view.target
    if is_blank(view.target):
        target = trace_cache.read(model, view).trace.translation.ids
        st.caption("Until you write one, what the model itself says stands in for it.")
    found = shifted(model.translator, view.text, target)
    st.html(f"The encoder reads {' '.join(map(_token, found.source))}")
    st.html(_table(found.table))
    st.latex(
        r"\mathcal{L} = -\frac{1}{n} \sum_{t=1}^{n} \ln P(y_t \mid y_0 \dots y_{t-1},\, x)"
        rf" = \frac{{{found.total:.4f}}}{{{len(found.table)}}} = {found.mean:.4f}"
        r"\ \text{nats per token}"
    )
    st.caption(
        "Paper, section 3 and 3.1. The loss of a token is −ln of its probability: 0 if the model "
        "was sure of it. Training adds label smoothing (section 5.4), which is left out here."
    )


def _table(table: pd.DataFrame) -> str:
    """A line a step; tokens are shown as text."""
    rows = "".join(
        f'<tr><th scope="row">{step}</th>'
        f'<td class="hu-reads">{_tokens(line["reads"])}</td>'
        f"<td>{_token(line['target'])}</td>"
        f'<td><span class="hu-share"><span style="width: {100 * line["probability"]:.1f}%"></span>'
        f"</span>{_percent(line['probability'])}</td>"
        f"<td>{line['loss']:.3f}</td>"
        f"<td>{_guess(line)}</td></tr>"
        for step, line in zip(table.index, table.to_dict("records"), strict=True)
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    caption = "Every line is a question, and all of them are asked in one pass."
    return (
        '<div style="overflow-x: auto" tabindex="0"><table class="hu-table hu-shifted">'
        f"<caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _tokens(tokens: tuple[str, ...]) -> str:
    """What was read, the newest token in bold."""
    *before, last = tokens
    return " ".join([*(_faint(token) for token in before), _token(last)])


def _token(token: str) -> str:
    return f"<b>{_faint(token)}</b>"


def _faint(token: str) -> str:
    """A token as text; the stroke that begins a word is small."""
    shown = escape(exact.token(token))
    return f'<span class="hu-word">▁</span>{shown[1:]}' if shown[1:] and shown[0] == "▁" else shown


def _guess(line: dict[Any, Any]) -> str:
    """The most probable token, where it is another one."""
    if line["guess"] == line["target"]:
        return "the same"
    return f"{_token(line['guess'])} {_percent(line['guess_probability'])}"


def _percent(share: float) -> str:
    return "&lt; 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def bleu_by_hand(model: Model) -> None:
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
    st.html(_runs(found))
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


def _runs(found: BleuByHand) -> str:
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
