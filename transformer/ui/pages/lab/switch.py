"""Switch off heads, change rows and tokens, and compare with the original."""

from __future__ import annotations

import re

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.state import KINDS
from transformer.figures.switchboard import switchboard_data
from transformer.ui import state
from transformer.ui.address import HEADS_FORM
from transformer.ui.pages.lab import (
    Lab,
    pruning,
    switch_controls,
    switch_head,
    switch_results,
)
from transformer.ui.pages.lab.switch_changes import cached_comparison, make_plan
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, display_names, frame

MAX_SINGLE_HEADS = 6
"""Number of heads to try one by one before whole layers."""
MAX_TOKENS = 128
"""Maximum length of source and target; longer tables are slow and hard to read."""


def show(model: Model) -> None:
    """Draw the switchboard, its effect on the translation, and the selected head."""
    frame.lead_text(
        "Is a head needed? Switch it off and see. Changes apply to this page only and are part of "
        "its link."
    )
    controls.sentence(model)
    cached_trace = trace_cache.read(model, state.view(Lab))
    trace = cached_trace.trace
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    if longest > MAX_TOKENS:
        st.info(
            f"This text has {longest} tokens; heads can be switched off for up to {MAX_TOKENS}. "
            "Choose one sentence of it."
        )
        return
    view = state.view(Lab)
    plan = make_plan(model, cached_trace, view)
    comparison, failure = None, None
    try:
        # Compute before drawing the tables: the browser would compete for the processor.
        comparison = None if plan.empty else cached_comparison(model, cached_trace, view, plan)
    except ValueError as error:
        failure = error
    _heads(cached_trace)
    switch_controls.removal_and_patching(model, cached_trace)
    for problem in plan.problems:
        st.warning(frame.plain(frame.as_sentence(problem)))
    if failure:
        raise failure  # after the widgets that can undo the change
    effect = ""
    if comparison is None:
        _suggestions(model, cached_trace)
    else:
        effect = switch_results.effect_sentence(plan, comparison)
        switch_results.show_changes(model, cached_trace, plan, comparison, effect)
    switch_head.show(model, cached_trace, plan, comparison, effect)


def _heads(cached_trace: CachedTrace) -> None:
    view = state.view(Lab)
    data = switchboard_data(
        cached_trace.explorer_data,
        KINDS,
        view.off,
        large=view.size == "large",
        exact=display_names.is_exact(),
    )
    switch_results.switchboard(key="switchboard", data=data, on_choice_change=_store_switches)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row(
            "ablation",
            help="**Zero ablation**: the output of the head is 0. **Uniform attention**: it "
            "attends to all tokens equally. **Mean ablation**: its output is its mean over the "
            "examples above.",
        )
        defaults = Lab()
        names = "off", "edited_row", "removed_tokens", "patch"
        changes = {name: getattr(defaults, name) for name in names}
        frame.state_button(
            "Restore everything",
            "undo",
            changes,
            disabled=all(getattr(view, name) == value for name, value in changes.items()),
        )


def _store_switches() -> None:
    off = st.session_state["switchboard"]["choice"].get("off", "")
    if matches_form(off, HEADS_FORM[0]):
        state.change(off=off)


def _suggestions(model: Model, cached_trace: CachedTrace) -> None:
    """Draw suggestions of heads to switch off, first those that change this sentence."""
    last = model.n_layers - 1
    layer, head = cached_trace.explorer_data.clearest("cross")
    st.info(
        f"Nothing is changed yet: the translation is **{frame.plain(cached_trace.trace.text)}** "
        "Switch off a head above, or start with one of these."
    )
    with st.container(horizontal=True):
        if state.view(Lab).method == "greedy":
            st.button(
                "Fewest heads that change a word",
                type="primary",
                icon=":material/search:",
                help="Searches the six most important cross-attention heads one by one, then whole "
                "layers, then all of them.",
                on_click=_switch_off_fewest,
                args=(model,),
            )
        for label, off in (
            (
                f"Strongest cross-attention head, {display_names.short_head(layer, head)}",
                f"c{layer}.{head}",
            ),
            ("Last layer of cross-attention", f"c{last}"),
            ("All decoder self-attention", ",".join(f"d{n}" for n in range(model.n_layers))),
        ):
            frame.state_button(label, "toggle_off", {"off": off})


def _switch_off_fewest(model: Model) -> None:
    """Switch off the fewest heads that change the translation, else all cross-attention heads."""
    state.change(off=_fewest_heads(model, state.view(Lab).text), ablation="zero")


@cached("Searching for important heads …")
def _fewest_heads(model: Model, text: str) -> str:
    """Return heads in the form of the address field `off`, for a text that can be translated."""
    translator, config = model.translator, model.translator.model.config
    importances = gradient_importances(translator, Corpus.from_lines([text], "one sentence"))[
        "sentence"
    ]
    heads = [head for head in reversed(importances.order()) if head[0] == "cross"][
        :MAX_SINGLE_HEADS
    ]
    layers = range(config.n_layers)
    candidates: list[list[Head]] = [[head] for head in heads]
    for kind in ("cross", "decoder", "encoder"):
        candidates += [
            [(kind, n, head) for head in range(config.n_heads)] for n in reversed(layers)
        ]
    candidates.append([("cross", n, head) for n in layers for head in range(config.n_heads)])
    original = translator.translate(text, candidates=1)
    for heads_off in candidates:
        hooks = switched_off(config, heads_off)
        altered = translator.translate(
            text, hooks=hooks, candidates=1, max_len=len(original.ids) + 12
        )
        if altered.text != original.text:
            break
    return pruning.head_codes(heads_off)


def matches_form(text: object, form: str) -> bool:
    """Return whether a value from the browser matches the regular expression."""
    return isinstance(text, str) and re.fullmatch(form, text, re.ASCII) is not None
