"""The translation of the visitor's sentence, its decoding steps, and forced tokens."""

from __future__ import annotations

from typing import Any

import streamlit as st
import torch

from transformer.figures import steps_data
from transformer.figures.glance import glance_data
from transformer.figures.steps import word_steps
from transformer.inference import Trace
from transformer.inference.rivals import Rival, rival_words
from transformer.inference.search import mass_above
from transformer.measures.words import words
from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.pages.translate import Translate
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import exact, frame, views

TOP = 0.9
"""A piece outside the fewest that have this much probability together is from the tail: the share
that Holtzman et al. 2020 (https://arxiv.org/abs/1904.09751) draw from, from memory."""
_ATTENTION = "pages/attention.py"
_OF, _WHERE = "forced_of", "looked_at"


def show(model: Model) -> CachedTrace | None:
    """The translation; None, with what to do, where the visitor is to write one and has not."""
    view = state.view(Translate)
    if view.method == "forced" and is_blank(view.target):
        st.info("Write your own translation below to see how probable the model finds it.")
        return None
    reading = _with_the_piece(model, view, trace_cache.read(model, view))
    views.translation(reading, model.about.writes)
    return reading


def steps(model: Model, reading: CachedTrace) -> None:
    """The table of decoding steps. Each candidate can be taken, and each step leads to where the
    model looked."""
    view = state.view(Translate)
    what = "token" if exact.is_on() else "word"
    st.caption(f"Click another {what} to continue the translation from it.{_compared()}")
    forced = int(view.force.split(":")[0]) if view.force else -1
    drawn = tails(model, reading) if view.method == "sample" else {}
    data = _table(model, reading.trace, forced, drawn)
    views.component("translation")(key="steps", data=data, on_choice_change=lambda: _chosen(model))
    if st.session_state.pop(_WHERE, False):
        st.switch_page(_ATTENTION, query_params=state.params(_ATTENTION))


def _compared() -> str:
    """What the percentages of whole words are."""
    if exact.is_on():
        return ""
    return (
        " Percentages compare tokens, for the model chooses tokens: each is the probability of the "
        "first token in which a word differs from the one taken. Turn on **Show tokens** to see "
        "every token."
    )


def _table(model: Model, trace: Trace, forced: int, drawn: dict[int, float]) -> dict[str, Any]:
    """Of pieces, or of whole words with those that came close."""
    pieces = trace.translation.steps
    if exact.is_on():
        return steps_data(pieces, live=True, forced=forced, tails=drawn)
    glance = glance_data(trace, _rivals(model, trace))
    numbers = words(trace.predicted_tokens)
    return word_steps(glance, pieces, numbers, live=True, forced=forced, tails=drawn)


@cached()
def _rivals(model: Model, trace: Trace) -> tuple[tuple[Rival, ...], ...]:
    return rival_words(model.translator, trace.translation)


def tails(model: Model, reading: CachedTrace) -> dict[int, float]:
    """The steps that took a piece from the tail, with the probability of all that were more
    probable, by the model's own probabilities, whatever the temperature was."""
    trace = trace_cache.sites(model, reading, ["hook_logits"])
    ids = torch.tensor(trace.predicted_ids)
    before = mass_above(torch.tensor(trace["hook_logits"]), ids).tolist()
    return {step: share for step, share in enumerate(before) if share >= TOP}


def _with_the_piece(model: Model, view: Translate, reading: CachedTrace) -> CachedTrace:
    """The reading with the piece that the visitor took, with the way back; a piece that was taken
    in another sentence is let go of."""
    text, force = st.session_state.get(_OF, (view.text, ""))
    if view.force and view.force == force and view.text != text:
        state.set_fields(force="")
        view = state.view(Translate)
    st.session_state[_OF] = view.text, view.force
    if not view.force:
        return reading
    try:
        altered = trace_cache.with_forced_token(model, view, reading, view.force)
    except ValueError as error:
        st.warning(frame.plain(f"That token cannot be forced: {error}"))
        state.set_fields(force="")
        return reading
    step = int(view.force.split(":")[0])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"You changed step {step + 1}. The model's own translation: "
            f"**{frame.plain(reading.trace.text)}**"
        )
        frame.state_button("Undo", "", {"force": ""})
    return altered


def _chosen(model: Model) -> None:
    """The browser tells of a candidate that is taken, or of a step whose attention is asked for."""
    told = st.session_state["steps"]["choice"]
    step = int(told["step"])
    if "id" in told:
        state.change(force=f"{step}:{int(told['id'])}")
        return
    force = state.view(Translate).force
    # The aligner may look a token up in the next row, which has read it.
    row = step + int(model.aligner is not None and model.aligner.weights_to == "input")
    look = {"view": "heads", "kind": "cross", "layer": -1, "head": -1, "tokens": f"q{row}"}
    state.change(_ATTENTION, **look, heads="", combine="one", pin="", force=force, step=step)
    st.session_state[_WHERE] = True
