"""Switch off heads, change rows and tokens, and compare with the original."""

from __future__ import annotations

import re

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.comparison import Comparison
from transformer.figures.switchboard import switchboard_data
from transformer.inference import Trace
from transformer.measures.head_codes import HEADS_FORM, parse_heads, write_heads
from transformer.measures.kinds import Head
from transformer.ui.base import state
from transformer.ui.pages.home import Home, switch_controls, switch_head, switch_results
from transformer.ui.pages.home.switch_changes import cached_comparison, make_plan
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, frame
from transformer.ui.widgets.views import component

MAX_TOKENS = 128
"""Maximum length of source and target; longer tables are slow and hard to read."""
_PRUNED_KEY = "pruned-heads"
_switchboard = component("switchboard")


def show(model: Model) -> None:
    """Draw both translations, the switchboard, the effect, and the selected head."""
    cached_trace = trace_cache.read(model, state.view(Home))
    trace = cached_trace.trace
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    if longest > MAX_TOKENS:
        st.info(
            f"This text has {longest} tokens; heads can be switched off for up to {MAX_TOKENS}. "
            "Choose one sentence of it."
        )
        return
    view = state.view(Home)
    plan = make_plan(model, cached_trace, view)
    comparison, failure = None, None
    try:
        # Compute before drawing the tables: the browser would compete for the processor.
        comparison = None if plan.empty else cached_comparison(model, cached_trace, view, plan)
    except ValueError as error:
        failure = error
    _both_translations(trace, comparison)
    _heads(cached_trace)
    _controls(model)
    for problem in plan.problems:
        st.warning(frame.plain(frame.as_sentence(problem)))
    effect = ""
    if comparison is not None:
        effect = switch_results.effect_sentence(plan, comparison)
        switch_results.show_changes(model, cached_trace, plan, comparison, effect)
    switch_controls.masking_and_patching(model, cached_trace)
    if failure:
        raise failure  # after the widgets that can undo the change
    switch_head.show(model, cached_trace, plan, comparison, effect)


def _both_translations(trace: Trace, comparison: Comparison | None) -> None:
    """Draw the translation before and after the change, side by side."""
    before, after = st.columns(2)
    before.markdown(f"With all heads: **{frame.plain(trace.text)}**")
    if comparison is None:
        after.markdown("Switch off a head below to change it.")
        return
    altered = frame.plain(comparison.translation.text) or "(empty)"
    end = "" if comparison.translation.finished else " …"
    same = ":gray[(the same)]" if not comparison.changed else ""
    after.markdown(f"After the change: **{altered}**{end} {same}")


def _heads(cached_trace: CachedTrace) -> None:
    view = state.view(Home)
    data = switchboard_data(
        cached_trace.packed,
        view.off,
        large=view.size == "large",
    )
    _switchboard(key="switchboard", data=data, on_choice_change=_store_switches)


def _controls(model: Model) -> None:
    """Draw what switches off several heads at once, and what undoes it."""
    view, order = state.view(Home), _least_important_first(model.hash, state.view().text, model)
    st.session_state[_PRUNED_KEY] = _number_pruned(model, view.off, order)
    st.slider(
        "Heads switched off, the least important first",
        0,
        len(order),
        key=_PRUNED_KEY,
        help="Ordered by the gradient of the loss on this sentence with respect to a gate on each "
        "head, normalised within its layer (Michel et al. 2019). How many can go before the "
        "translation changes?",
        on_change=_prune,
        args=(order,),
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row(
            "ablation",
            help="**Zero ablation**: the output of the head is 0. **Uniform attention**: it "
            "attends to all tokens equally. **Mean ablation**: its output is its mean over the "
            "examples above.",
        )
        defaults = Home()
        names = "off", "edited_row", "masked_tokens", "patch"
        changes = {name: getattr(defaults, name) for name in names}
        frame.state_button(
            "Restore everything",
            "undo",
            changes,
            disabled=all(getattr(view, name) == value for name, value in changes.items()),
        )


@cached("Measuring the importance of the heads …")
def _least_important_first(digest: str, text: str, _model: Model) -> list[Head]:
    """Return all heads by their importance for this text, the least important first."""
    corpus = Corpus.of_text(text)
    return gradient_importances(_model.translator, corpus)["sentence"].normalised().order()


def _number_pruned(model: Model, off: str, order: list[Head]) -> int:
    """Return how many of the least important heads are off, or 0 if other heads are off too."""
    heads_off, _ = parse_heads(off, model.n_layers, model.n_heads)
    return len(heads_off) if {*heads_off} == {*order[: len(heads_off)]} else 0


def _prune(order: list[Head]) -> None:
    state.change(off=write_heads(order[: st.session_state[_PRUNED_KEY]]), ablation="zero")


def _store_switches() -> None:
    off = st.session_state["switchboard"]["choice"].get("off", "")
    if matches_form(off, HEADS_FORM[0]):
        state.change(off=off)


def matches_form(text: object, form: str) -> bool:
    """Return whether a value from the browser matches the regular expression."""
    return isinstance(text, str) and re.fullmatch(form, text, re.ASCII) is not None
