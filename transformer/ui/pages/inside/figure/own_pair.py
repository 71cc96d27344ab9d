"""The targets of training for a sentence pair: outputs shifted right by one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.inside import shifted_targets
from transformer.text.visible import is_blank
from transformer.ui.base import state
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, display_names, frame

_COLUMNS = ("t", "decoder input", "target", "probability", "loss", "prediction")


def show(model: Model) -> None:
    view, start = state.view(), display_names.token("<s>")
    st.markdown(
        "The decoder reads the reference translation, shifted right by one position and with "
        f"{frame.plain(start)} in front, and predicts every next token at once (teacher forcing)."
    )
    picture = st.container()
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
    with picture:
        st.html(_table(example.table))
    st.html(f"Encoder input: {' '.join(map(_token, example.source))}")
    st.latex(
        r"\mathcal{L} = -\frac{1}{n} \sum_{t=1}^{n} \ln P(y_t \mid y_0 \dots y_{t-1},\, x)"
        rf" = \frac{{{example.total:.4f}}}{{{len(example.table)}}} = {example.mean:.4f}"
        r"\ \text{nats per token}"
    )
    st.caption(
        "Paper, sections 3 and 3.1. The causal mask hides the token to predict. A wrong prediction "
        "does not affect later positions, which read the reference. The loss of a token is −ln of "
        "its probability: 0 for a probability of 1. Training also uses label smoothing (section "
        "5.4), which is left out here."
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
    heads = "".join(f'<th scope="col">{head}</th>' for head in _COLUMNS)
    return (
        '<div style="overflow-x: auto" tabindex="0"><table class="hu-table hu-shifted">'
        "<caption>Each row is one prediction; all are made in one pass.</caption>"
        f"<thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _prefix(tokens: tuple[str, ...]) -> str:
    """Return the tokens read so far as HTML, the last one in bold."""
    *earlier_tokens, last = tokens
    return " ".join([*(_light_token(token) for token in earlier_tokens), _token(last)])


def _token(token: str) -> str:
    return f"<b>{_light_token(token)}</b>"


def _light_token(token: str) -> str:
    """Return a token as HTML that a browser does not translate, with a small mark where a word
    begins."""
    markup = escape(display_names.token(token))
    if markup[1:] and markup[0] == "▁":
        markup = f'<span class="hu-word">▁</span>{markup[1:]}'
    return f'<bdi translate="no">{markup}</bdi>'


def _prediction(line: dict[Any, Any]) -> str:
    """Return the most probable token, if it is not the target."""
    if line["guess"] == line["target"]:
        return "same as target"
    return f"{_token(line['guess'])} {_percent(line['guess_probability'])}"


def _percent(share: float) -> str:
    return "&lt; 0.1%" if share < 0.0005 else f"{100 * share:.1f}%"
