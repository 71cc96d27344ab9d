"""Activation patching: which activations of a clean sentence restore its prediction in a corrupted
one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from transformer.analysis.interventions.patching_sweep import (
    STACKS,
    PatchingSweep,
    check_pair,
    patching_sweep,
)
from transformer.figures.positions import table
from transformer.figures.state import KINDS
from transformer.jobs import Computation
from transformer.measures import naming
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.pages.research import Research, bundled_sentences
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import charts, controls, display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed
from transformer.ui.widgets.python_program import program_start

EXAMPLE_PAIRS = (
    ("I am a student.", "I am a teacher."),
    ("She reads the letter.", "She reads the book."),
    ("My brother is tired.", "My sister is tired."),
    ("The red car is new.", "The red book is new."),
    ("Where is the key?", "Where is the book?"),
    ("I saw her yesterday.", "I saw him yesterday."),
)
"""Pairs with equally many tokens, for the bundled checkpoints; the replaced word changes one word
of the French or German translation."""
DESCRIPTION = (
    "The corrupted sentence is read about 400 times, each time with one activation replaced by "
    "that of the clean sentence. This takes a few seconds for a short sentence."
)
HELP = {
    "stream": "The residual stream of a token after each sublayer: everything the model knows "
    "there.",
    "attention": "Only what each attention sublayer adds to the residual stream of a token.",
    "ffn": "Only what each feed-forward network adds to the residual stream of a token.",
    "heads": "The output of one head, at all tokens at once.",
}
SUBLAYERS = {
    "embed": "embedding",
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "ffn": "feed-forward",
}
RESTORED = "restored"


def show(model: Model) -> None:
    """Draw the two sentences, a button, and how much each patch restores."""
    with st.container(key="sentence-pair"):
        clean, corrupted = st.columns(2, gap="small")
    with clean:
        controls.sentence_field(model)
    corrupted.text_input(
        **{**state.bound("other"), "label": "Corrupted sentence"},
        placeholder="The same with one word replaced",
        live="400ms",
    )
    result, settings = st.container(), st.container()
    with settings:
        st.header("Sentences")
        st.markdown(
            "Two sentences that differ in one word get two translations. Activations of the clean "
            "sentence are patched into the corrupted one, **one at a time**, to see the effect on "
            "the prediction."
        )
        pairs = _example_pairs(model)
        controls.sentence_examples(model)
    with result:
        _result(model, pairs)


def _result(model: Model, pairs: list[tuple[str, str]]) -> None:
    """Draw the patches of the visitor's sentences, or of the first example pair."""
    view = state.view(Research)
    if not view.other:
        pair = next((pair for pair in pairs if pair[0] == view.text), pairs[0] if pairs else None)
        if pair and (example := _example(model, *pair)):
            clean, corrupted = map(frame.plain, pair)
            st.caption(
                f"Example: “{clean}” → “{corrupted}” Blue: a value of the first sentence, put here "
                "into the second, brings the first translation back."
            )
            _draw(model, example, *pair)
            st.caption("Write a corrupted sentence, or choose a pair below.")
        else:
            st.info("Write a corrupted sentence: the same with one word replaced.")
        return
    try:
        check_pair(model.translator, view.text, view.other)
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    result = computed(
        _computation(model, view), button="Patch every activation", description=DESCRIPTION
    )
    if result:
        _draw(model, PatchingSweep.from_dict(result), view.text, view.other)


@cached("Patching every activation of an example …")
def _example(model: Model, clean: str, corrupted: str) -> PatchingSweep | None:
    """Return the sweep over a bundled pair; None if the model gives both the same translation."""
    try:
        return patching_sweep(model.translator, clean, corrupted)
    except ValueError:
        return None


def _example_pairs(model: Model) -> list[tuple[str, str]]:
    """Draw buttons for the bundled pairs that have equally many tokens; return those pairs."""
    if bundled_sentences.input_format(model) != "text":
        return []
    pairs = []
    with st.container(horizontal=True, gap="small"):
        for clean, corrupted in EXAMPLE_PAIRS:
            try:
                check_pair(model.translator, clean, corrupted)
            except ValueError:
                continue
            pairs.append((clean, corrupted))
            words = zip(clean.split(), corrupted.split(), strict=True)
            replacement = next((a.strip(".?"), b.strip(".?")) for a, b in words if a != b)
            st.button(
                f"{replacement[0]} → {replacement[1]}",
                key=f"pair-{replacement[0]}-{replacement[1]}",
                help=f"{clean} / {corrupted}",
                on_click=state.change,
                kwargs={"text": clean, "other": corrupted},
            )
    return pairs


def _computation(model: Model, view: Research) -> Computation:
    folder = str(models.checkpoints()[model.name].resolve())
    sentences = {"clean": view.text, "corrupted": view.other}
    return Computation(
        "transformer.analysis.interventions.patching_sweep:compute",
        {**sentences, "checkpoint": folder, "hash": model.hash},
        identity=(model.hash, sentences),
    )


def _draw(model: Model, sweep: PatchingSweep, clean: str, corrupted: str) -> None:
    view = state.view(Research)
    if view.patched_activations == "heads":
        _heads(sweep)
    else:
        _maps(sweep, view.patched_activations)
    controls.button_row("patched_activations")
    st.caption(HELP[view.patched_activations])
    _predictions(sweep)
    st.caption(
        "0, the background colour: no effect. 1, blue: the prediction of the clean sentence is "
        "fully restored. Orange, below 0: the prediction moves further away from it."
    )
    tables.csv(
        "All patches (.csv)",
        lambda: sweep.table,
        file_name("patching", model.name, clean, "patched"),
    )
    display_names.python_code(
        "The same from Python",
        f"""{program_start(model, None, ["interventions.patching_sweep import patching_sweep"])}
sweep = patching_sweep(translator, {clean!r}, {corrupted!r})
print(sweep.prefix_tokens, sweep.answers, sweep.clean, sweep.corrupted)
print(sweep.table)  # one row per patch
print(sweep.map("stream", "encoder"), sweep.heads("cross"))""",
    )


def _predictions(sweep: PatchingSweep) -> None:
    """Draw both predictions and the logit differences that 1 and 0 stand for."""
    clean, corrupted = (frame.plain(display_names.token(item)) for item in sweep.answers)
    prefix = frame.plain(" ".join(display_names.tokens(sweep.prefix_tokens)[1:]))
    opening = f"Both translations begin with “{prefix}”. Then" if prefix else "At the first token,"
    numbers = [f"{item:+.2f}".replace("-", "−") for item in (sweep.clean, sweep.corrupted)]
    st.markdown(
        f"{opening} the clean sentence gives **{clean}** and the corrupted one **{corrupted}**. "
        f"The logit of “{clean}” minus that of “{corrupted}” is {numbers[0]} for the clean "
        f"sentence and {numbers[1]} for the corrupted one. The figures show which share of this "
        "difference each patch restores."
    )


def _maps(sweep: PatchingSweep, part: str) -> None:
    columns = {"encoder": _columns(sweep), "decoder": display_names.tokens(sweep.prefix_tokens)}
    limit = max(1.0, *(float(np.abs(sweep.map(part, stack)[1]).max()) for stack in STACKS))
    for stack, column in zip(STACKS, st.columns(2, gap="large"), strict=True):
        names, values = sweep.map(part, stack)
        rows = [_row(name) for name in names]
        with column:
            figure = table(
                values,
                rows,
                columns[stack],
                y_title=f"{stack}, after sublayer",
                x_title="source token" if stack == "encoder" else "target token read",
                quantity=RESTORED,
                limit=limit,
                dark=dark(),
            )
            figure.update_layout(height=150 + 26 * len(rows))
            chart(figure, f"patching-{part}-{stack}")
            st.markdown(f"**{stack.capitalize()}**: {_strongest(values, rows, columns[stack])}")


def _columns(sweep: PatchingSweep) -> list[str]:
    """Return the clean sentence's tokens, or both tokens where the sentences differ."""
    pairs = zip(
        *(display_names.tokens(tokens) for tokens in (sweep.clean_tokens, sweep.corrupted_tokens)),
        strict=True,
    )
    return [a if a == b else f"{a} | {b}" for a, b in pairs]


def _row(hook_name: str) -> str:
    """Return a row's label, like "layer 3, self-attention", with the session's layer numbers."""
    _, *path, _ = hook_name.split(".")
    name = SUBLAYERS[path[-1].removesuffix("_norm")]
    return f"{naming.layer_name(int(path[1]))}, {name}" if len(path) > 1 else name


def _strongest(
    values: Float[np.ndarray, "hook_points positions"], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Return the greatest restored share and where it is, at the last hook point if several tie."""
    best = float(values.max())
    row, column = np.argwhere(values >= best - 0.005)[-1]
    return (
        f"at most {100 * best:.0f}% restored, at “{frame.plain(columns[column])}” after {rows[row]}"
        if best >= 0.005
        else "no patch restores anything"
    )


def _heads(sweep: PatchingSweep) -> None:
    limit = charts.head_heatmaps(
        {kind: sweep.heads(kind) for kind in KINDS},
        RESTORED,
        "patching-heads",
        lambda head, best: f", most in {head} ({100 * best:.0f}%)" if best >= 0.005 else "",
    )
    st.caption(f"The colour scale of the heads ends at ±{limit:.2f}.")
