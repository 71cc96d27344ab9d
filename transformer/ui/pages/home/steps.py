"""The decoding steps of the visitor's sentence, with alternatives and forced tokens."""

from __future__ import annotations

from typing import Any

import streamlit as st
import torch

from transformer.figures import steps_data
from transformer.inference import Trace
from transformer.inference.alternatives import Alternative, word_alternatives
from transformer.inference.search import probability_above
from transformer.measures.words import words
from transformer.text.visible import is_blank
from transformer.ui.base import state
from transformer.ui.base.address import METHODS
from transformer.ui.pages.home import Home
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, display_names, frame, views

TAIL_THRESHOLD = 0.9
"""Top-p beyond which a sampled token counts as from the tail; a common p of nucleus sampling
(Holtzman et al. 2020, https://arxiv.org/abs/1904.09751, from memory)."""
_FORCED_FOR_KEY = "forced_for"


def show(model: Model) -> None:
    """Draw the decoding method, the translation and the table of its steps. A click on a candidate
    forces it; a click on a step opens its attention."""
    view = state.view(Home)
    if view.method == "forced" and is_blank(view.target):
        controls.decoding_method(model)
        st.info("Write your own translation to see how probable the model finds it.")
        return
    with (
        st.container(horizontal=True, key="depth-tools"),
        st.popover(f"Decoding: {METHODS[view.method]}"),
    ):
        controls.decoding_method(model)
    cached_trace = _with_forced_token(model, view, trace_cache.read(model, view))
    views.translation(cached_trace, model.description.target_code)
    view = state.view(Home)
    forced = int(view.force.split(":")[0]) if view.force else -1
    tail_steps = tails(model, cached_trace) if view.method == "sample" else {}
    data = _table(model, cached_trace.trace, forced, tail_steps)
    views.component("translation")(
        key="steps", data=data, on_choice_change=lambda: _handle_choice(model)
    )
    unit = "token" if display_names.is_exact() else "word"
    st.caption(f"Click another {unit} to continue the translation from it.{_percentage_note()}")


def _percentage_note() -> str:
    """Return the explanation of the percentages of whole words; "" if tokens are shown."""
    if display_names.is_exact():
        return ""
    return (
        " The model chooses tokens, so each percentage is the probability of the first token in "
        "which a word differs from the chosen one. Turn on **Show tokens** to see every token."
    )


def _table(model: Model, trace: Trace, forced: int, tail_steps: dict[int, float]) -> dict[str, Any]:
    """Return the table's data by token, or by whole word with its alternatives."""
    alternatives = None if display_names.is_exact() else _cached_alternatives(model, trace)
    return steps_data(trace, alternatives, live=True, forced=forced, tails=tail_steps)


@cached()
def _cached_alternatives(model: Model, trace: Trace) -> tuple[tuple[Alternative, ...], ...]:
    return word_alternatives(model.translator, trace.translation)


def tails(model: Model, cached_trace: CachedTrace) -> dict[int, float]:
    """Return the steps that sampled a token from the tail, with the total probability of all more
    probable tokens, from the model's probabilities at temperature 1."""
    trace = trace_cache.hook_points(model, cached_trace, ["hook_logits"])
    ids = torch.tensor(trace.predicted_ids)
    before = probability_above(torch.tensor(trace["hook_logits"]), ids).tolist()
    return {step: share for step, share in enumerate(before) if share >= TAIL_THRESHOLD}


def _with_forced_token(model: Model, view: Home, cached_trace: CachedTrace) -> CachedTrace:
    """Return the trace with the forced token, after drawing an undo button. A token that was forced
    in another sentence is removed."""
    text, force = st.session_state.get(_FORCED_FOR_KEY, (view.text, ""))
    if view.force and view.force == force and view.text != text:
        state.set_fields(force="")
        view = state.view(Home)
    st.session_state[_FORCED_FOR_KEY] = view.text, view.force
    if not view.force:
        return cached_trace
    try:
        altered = trace_cache.with_forced_token(model, view, cached_trace, view.force)
    except ValueError as error:
        st.warning(frame.plain(f"That token cannot be forced: {error}"))
        state.set_fields(force="")
        return cached_trace
    step = int(view.force.split(":")[0])
    row = step if display_names.is_exact() else words(altered.trace.predicted_tokens)[step]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"You changed step {row + 1}. The model's own translation: "
            f"**{frame.plain(cached_trace.trace.text)}**"
        )
        frame.state_button("Undo", "", {"force": ""})
    return altered


def _handle_choice(model: Model) -> None:
    """Handle a click on a candidate or on a step's attention; a callback."""
    choice = st.session_state["steps"]["choice"]
    step = int(choice["step"])
    if "id" in choice:
        state.change(force=f"{step}:{int(choice['id'])}")
        return
    force = state.view(Home).force
    # The aligner may use the next row, whose input is this token.
    row = step + int(model.aligner is not None and model.aligner.weights_to == "input")
    fields = {"view": "heads", "kind": "cross", "layer": -1, "head": -1, "tokens": f"q{row}"}
    cleared = {"heads": "", "combine": "one", "pin": ""}
    state.change(depth="heads", **fields, **cleared, force=force, step=step)
