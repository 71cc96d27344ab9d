"""A sentence pair: the targets of training, shifted right by one, and its BLEU step by step."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.inside import shifted_targets
from transformer.analysis.inside.bleu_by_hand import BleuByHand, NGramCounts, bleu
from transformer.text.visible import is_blank
from transformer.ui.base import state
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, display_names, frame

_NGRAM_COLUMNS = (
    "n",
    "n-grams of the output (struck through: no match)",
    "matches",
    "precision pₙ",
)
_COLUMNS = ("t", "decoder input", "target", "probability", "loss, nats", "prediction")


def shifted_right(model: Model) -> None:
    view, start = state.view(), display_names.token("<s>")
    st.markdown(
        "Training does not decode. The decoder reads the reference translation, shifted right by "
        f"one position and with {frame.plain(start)} in front, and predicts the next token at "
        "every position at once (teacher forcing). The causal mask hides the token to predict. A "
        "wrong prediction does not affect later positions, which read the reference."
    )
    st.text_input(
        model.description.target,
        placeholder=controls.suggested_translation(model),
        live="400ms",
        **state.bound("target"),
    )
    target: str | Sequence[int] = view.target
    if is_blank(view.target):
        target = trace_cache.read(model, view).trace.translation.ids
        st.caption("Until you enter a translation, the model's own translation is used.")
    example = shifted_targets(model.translator, view.text, target)
    st.html(f"Encoder input: {' '.join(map(_token, example.source))}")
    st.html(_table(example.table))
    st.latex(
        r"\mathcal{L} = -\frac{1}{n} \sum_{t=1}^{n} \ln P(y_t \mid y_0 \dots y_{t-1},\, x)"
        rf" = \frac{{{example.total:.4f}}}{{{len(example.table)}}} = {example.mean:.4f}"
        r"\ \text{nats per token}"
    )
    st.caption(
        "Paper, sections 3 and 3.1. The loss of a token is −ln of its probability: 0 for a "
        "probability of 1. Training also uses label smoothing (section 5.4), which is left out "
        "here."
    )


def _table(table: pd.DataFrame) -> str:
    """Return an HTML table with one row per step."""
    rows = "".join(
        f'<tr><th scope="row">{step}</th>'
        f'<td class="hu-reads">{_prefix(line["reads"])}</td>'
        f"<td>{_token(line['target'])}</td>"
        f'<td><span class="hu-share"><span style="width: {100 * line["probability"]:.1f}%"></span>'
        f"</span>{_percent(line['probability'])}</td>"
        f"<td>{line['loss']:.3f}</td>"
        f"<td>{_prediction(line)}</td></tr>"
        for step, line in zip(table.index, table.to_dict("records"), strict=True)
    )
    return _scrolling("Each row is one prediction; all are made in one pass.", _COLUMNS, rows)


def _scrolling(caption: str, headers: Sequence[str], rows: str) -> str:
    """Return an HTML table with these rows of HTML, which scrolls horizontally."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in headers)
    return (
        '<div style="overflow-x: auto" tabindex="0"><table class="hu-table hu-shifted">'
        f"<caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _prefix(tokens: tuple[str, ...]) -> str:
    """Return the tokens read so far as HTML, the last one in bold."""
    *earlier_tokens, last = tokens
    return " ".join([*(_light_token(token) for token in earlier_tokens), _token(last)])


def _token(token: str) -> str:
    return f"<b>{_light_token(token)}</b>"


def _light_token(token: str) -> str:
    """Return a token as HTML, with a small mark where a word begins."""
    markup = escape(display_names.token(token))
    return (
        f'<span class="hu-word">▁</span>{markup[1:]}' if markup[1:] and markup[0] == "▁" else markup
    )


def _prediction(line: dict[Any, Any]) -> str:
    """Return the most probable token, if it is not the target."""
    if line["guess"] == line["target"]:
        return "same as target"
    return f"{_token(line['guess'])} {_percent(line['guess_probability'])}"


def _percent(share: float) -> str:
    return "&lt; 0.1%" if share < 0.0005 else f"{100 * share:.1f}%"


def bleu_by_hand(model: Model) -> None:
    view = state.view()
    output = trace_cache.read(model, view).trace.text
    st.markdown(
        "How close is a translation to a reference? BLEU counts the n-grams (sequences of one to "
        "four words) of the output that also occur in the reference, each counted at most as often "
        "as in the reference. An output that is too short is penalised (brevity penalty, BP)."
    )
    st.text_input(
        "Reference translation",
        placeholder=controls.suggested_translation(model),
        live="400ms",
        **state.bound("target"),
    )
    reference = view.target
    if is_blank(reference):
        note, reference = _default_reference(model, view.text, output)
        st.caption(note)
    result = bleu(output, reference)
    if not result.output:
        raise ValueError("The translation is empty; BLEU needs an output of at least one word.")
    c, r = len(result.output), len(result.reference)
    st.html(
        f'<p class="hu-reads">Output, c = {c} words: {_bold(result.output)}'
        f"<br>Reference, r = {r}: {_bold(result.reference)}</p>"
    )
    st.html(_ngram_table(result))
    _bleu_formulas(result)
    st.caption(
        "Words are split by sacrebleu’s tokenizer 13a, and the result equals its sentence_bleu. If "
        "no n-gram of some length matches, half a match is counted instead, for the next such "
        "length a quarter (exponential smoothing); otherwise the product would be 0. Lengths "
        "greater than the output are left out. Corpus BLEU sums the matches of all sentences "
        "before dividing; it is not the mean of sentence scores, which are noisy."
    )


def _default_reference(model: Model, text: str, output: str) -> tuple[str, str]:
    """Return a note and the reference to use before the visitor enters one: the bundled reference
    of an example sentence, else the output without its last word."""
    reference = model.description.translation(text)
    if reference:
        return "Example: a bundled reference. Enter your own above.", reference
    *words, _ = output.split() or [""]
    shorter = " ".join(words) or output
    return (
        "There is no reference for this sentence. As an example, the translation without its last "
        "word is used as the reference. Enter your own above.",
        shorter,
    )


def _bold(words: tuple[str, ...]) -> str:
    return " ".join(f"<b>{escape(word)}</b>" for word in words)


def _ngram_table(result: BleuByHand) -> str:
    """Return an HTML table with one row per n: its n-grams, with matches in bold."""
    rows = "".join(
        f'<tr><th scope="row">{order.n}</th><td class="hu-reads">{_ngrams(order)}</td>'
        f"<td>{order.matched} / {order.total}</td><td>{_precision(order)}</td></tr>"
        for order in result.orders
    )
    caption = "Every n-gram of the output, and whether the reference has it"
    return _scrolling(caption, _NGRAM_COLUMNS, rows)


def _ngrams(order: NGramCounts) -> str:
    parts = []
    for ngram, count, clipped in order.grams:
        words = escape(" ".join(ngram))
        markup = f"<b>{words}</b>" if clipped else f"<s>{words}</s>"
        if clipped and clipped < count:
            markup += f" (counts {clipped} of {count} times)"
        elif count > 1:
            markup += f" × {count}"
        parts.append(f'<span style="white-space: nowrap">{markup}</span>')
    return " · ".join(parts) or "the output is shorter than n"


def _precision(order: NGramCounts) -> str:
    if not order.total:
        return "–"
    if not order.matched:
        return f"{order.precision * order.total:g} / {order.total} = {order.precision:.3f}"
    return f"{order.precision:.3f}"


def _bleu_formulas(result: BleuByHand) -> None:
    """Draw the formulas of the brevity penalty, the geometric mean and their product."""
    c, r = len(result.output), len(result.reference)
    penalty = r"1\quad(c \ge r)" if c >= r else rf"e^{{1 - {r}/{c}}} = {result.brevity:.4f}"
    orders = result.counted
    product = r" \cdot ".join(f"{order.precision:.3f}" for order in orders)
    st.latex(rf"\mathrm{{BP}} = {penalty}")
    if not result.mean:
        st.latex(r"\text{no word in common:}\quad \mathrm{BLEU} = 0")
        return
    st.latex(
        rf"\Big(\prod_{{n=1}}^{{{len(orders)}}} p_n\Big)^{{1/{len(orders)}}} = "
        rf"({product})^{{1/{len(orders)}}} = {result.mean:.4f}"
    )
    st.latex(
        rf"\mathrm{{BLEU}} = 100 \cdot {result.brevity:.4f} \cdot {result.mean:.4f} "
        rf"= \mathbf{{{result.score:.1f}}}"
    )
