"""A pair of the visitor's own as training sees it: the outputs shifted right by one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.inside import shifted
from transformer.text.visible import is_blank
from transformer.ui import state, trace_cache
from transformer.ui.kit import controls, exact
from transformer.ui.models import Model

_HEADS = ("t", "the decoder reads", "it should say", "probability", "loss", "it would say")


def show(model: Model) -> None:
    """The whole section."""
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
