"""Switch off heads, change rows and tokens, and compare with the original."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.contributions import CellValues
from transformer.figures.state import KINDS
from transformer.figures.switchboard import switchboard_data
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.lab import (
    OFF,
    Lab,
    pruning,
    switch_cells,
    switch_further,
    switch_paint,
    switch_result,
)
from transformer.ui.pages.lab.switch_plan import Plan, compared, plan
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.services.trace_cache import Reading
from transformer.ui.widgets import controls, exact, frame, views
from transformer.ui.widgets.views import component

SINGLE = 6
"""Heads that are tried one by one before whole layers are."""
MAX_PIECES = 128
"""Pieces of the longer side: of longer texts the tables say little and cost much."""
_board = component("switchboard")


def show(model: Model) -> None:
    """The switchboard, what it changes, and one head of it."""
    frame.lead(
        "Is a head needed? Switch it off and see. Changes apply to this page only and are part of "
        "its link."
    )
    controls.sentence(model)
    reading = trace_cache.read(model, state.view(Lab))
    trace = reading.trace
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    if longest > MAX_PIECES:
        st.info(
            f"This text has {longest} tokens; heads can be switched off for up to {MAX_PIECES}. "
            "Choose one sentence of it."
        )
        return
    view = state.view(Lab)
    made = plan(model, reading, view)
    found, refused = None, None
    try:
        # Before the tables are drawn: the browser that draws them would take the processor.
        found = None if made.empty else compared(model, reading, view, made)
    except ValueError as error:
        refused = error
    _heads(reading)
    switch_further.show(model, reading)
    for problem in made.problems:
        st.warning(frame.plain(frame.sentence(problem)))
    if refused:
        raise refused  # what was switched is there to be put back
    if found is None:
        _nothing_yet(model, reading)
    else:
        switch_result.show(model, reading, made, found)
    _one_head(model, reading, made, found)


def _heads(reading: Reading) -> None:
    view = state.view(Lab)
    data = switchboard_data(
        reading.side, KINDS, view.off, large=view.size == "large", exact=exact.on()
    )
    _board(key="switchboard", data=data, on_choice_change=_switched)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.one_of(
            "means",
            help="**Zero ablation**: the output of the head is 0. **Uniform attention**: it "
            "attends to all tokens equally. **Mean ablation**: its output is its mean over the "
            "examples above.",
        )
        first = Lab()
        changes = {name: getattr(first, name) for name in ("off", "paint", "away", "patch")}
        frame.turn(
            "Restore everything",
            "undo",
            changes,
            disabled=all(getattr(view, name) == value for name, value in changes.items()),
        )


def _switched() -> None:
    off = st.session_state["switchboard"]["choice"].get("off", "")
    if switch_result.fits(off, OFF[0]):
        state.change(off=off)


def _nothing_yet(model: Model, reading: Reading) -> None:
    """What to begin with: what really changes this sentence first."""
    last = model.n_layers - 1
    layer, head = reading.side.clearest("cross")
    st.info(
        f"Nothing is changed yet: the translation is **{frame.plain(reading.trace.text)}** "
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
                on_click=_change_a_word,
                args=(model,),
            )
        for label, off in (
            (f"Strongest cross-attention head, {exact.short(layer, head)}", f"c{layer}.{head}"),
            ("Last layer of cross-attention", f"c{last}"),
            ("All decoder self-attention", ",".join(f"d{n}" for n in range(model.n_layers))),
        ):
            frame.turn(label, "toggle_off", {"off": off})


def _change_a_word(model: Model) -> None:
    """Switch off the first that changes the translation; if nothing does, all that look across."""
    state.change(off=_telling(model, state.view(Lab).text), means="zero")


@remembered("Searching for important heads …")
def _telling(model: Model, text: str) -> str:
    """Heads as the address has them. For a text that has been translated."""
    translator, config = model.translator, model.translator.model.config
    needed = gradient_importances(translator, Corpus.of_lines([text], "one sentence"))["sentence"]
    heads = [head for head in reversed(needed.order()) if head[0] == "cross"][:SINGLE]
    layers = range(config.n_layers)
    sets: list[list[Head]] = [[head] for head in heads]
    for kind in ("cross", "decoder", "encoder"):
        sets += [[(kind, n, head) for head in range(config.n_heads)] for n in reversed(layers)]
    sets.append([("cross", n, head) for n in layers for head in range(config.n_heads)])
    whole = translator.translate(text, candidates=1)
    for off in sets:
        hooks = switched_off(config, off)
        found = translator.translate(text, hooks=hooks, candidates=1, max_len=len(whole.ids) + 12)
        if found.text != whole.text:
            break
    return pruning.written(off)


def _one_head(model: Model, reading: Reading, made: Plan, found: Comparison | None) -> None:
    """The chosen head; `found` is nothing while nothing is changed."""
    st.header("One head")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, reading)
        frame.go("pages/attention.py", "Open this head", "visibility", view="heatmap")
    view = state.view()
    head = (view.kind, view.layer, view.head)
    if found is not None:
        _before_after(model, reading.trace, found, head)
    switch_paint.show(reading.trace, made, found, head)
    switch_cells.show(model, reading, head)


def _before_after(model: Model, trace: Trace, found: Comparison, head: Head) -> None:
    kind, layer, number = head
    if kind != "decoder" and found.original.src_ids != found.forced.src_ids:
        return
    before, after = (
        one.weights(kind, layer)[number].astype(np.float64) for one in (trace, found.forced)
    )
    quantities = [
        CellValues("before", "before", "Before", "weight", before, most=1.0),
        CellValues("after", "after", "After", "weight", after, most=1.0),
        CellValues("change", "change", "Change", "weight", after - before, signed=True),
    ]
    cell = views.cell_of(trace, kind)
    views.pair("altered-head", quantities, ("before", "after"), model, trace, head, cell)
