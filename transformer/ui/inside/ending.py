"""The end of the walk: the word that wins at each step, and its rivals."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.inference import Trace
from transformer.ui import frame, state
from transformer.ui.kit import exact
from transformer.ui.models import Model

RIVALS = 4


def show(model: Model, trace: Trace) -> None:
    """The chosen step's race, large, and below it who won at every other."""
    found = probabilities(trace)
    step = min(max(state.view().row, 0), len(found) - 1)
    order = np.argsort(-found[step], kind="stable")[: RIVALS + 1]
    names = exact.tokens(model.translator.vocabulary.tokens(order.tolist()))
    written = " ".join(exact.tokens(trace.tgt_tokens[: step + 1]))
    st.markdown(
        f"After {frame.plain(written)} the word that wins is **{frame.plain(names[0])}**, with "
        f"**{found[step, order[0]]:.1%}**."
    )
    rows = "".join(
        f'<tr><th scope="row">{"<b>" if at == 0 else ""}{escape(name)}{"</b>" if at == 0 else ""}'
        f'</th><td><span class="hu-share"><span style="width: {100 * found[step, token]:.1f}%">'
        f"</span></span>{found[step, token]:.1%}</td></tr>"
        for at, (name, token) in enumerate(zip(names, order, strict=True))
    )
    st.html(
        '<table class="hu-table"><caption>The word that wins, and its rivals: '
        f"output {step + 1} of {len(found)}</caption><tbody>{rows}</tbody></table>"
    )
    if len(found) > 1:
        outputs = exact.tokens(trace.predicted_tokens)
        st.selectbox(
            "Another output",
            range(len(found)),
            format_func=lambda at: f"{at + 1}: {outputs[at]}",
            key=_follow(step),
            on_change=_taken,
        )


def probabilities(trace: Trace) -> npt.NDArray[np.float64]:
    """Softmax of the logits of every output, (target, vocabulary)."""
    logits = trace["hook_logits"].astype(np.float64)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)  # type: ignore[no-any-return]


def _follow(step: int) -> str:
    st.session_state["inside-ending"] = step
    return "inside-ending"


def _taken() -> None:
    state.change(row=int(st.session_state["inside-ending"]))
