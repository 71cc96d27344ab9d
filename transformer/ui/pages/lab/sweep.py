"""Activation patching: two sentences a word apart, and what of the one turns the other's answer."""

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
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.shell import visitor
from transformer.ui.widgets import charts, controls, exact, frame, own_sentences, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed

PAIRS = (
    ("She reads the letter.", "She reads the book."),
    ("My brother is tired.", "My sister is tired."),
    ("The red car is new.", "The red book is new."),
    ("Where is the key?", "Where is the book?"),
    ("I saw her yesterday.", "I saw him yesterday."),
)
"""Pairs with equally many tokens, for the bundled checkpoints; the replaced word changes one word
of the French or German translation."""
ABOUT = (
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
    frame.lead_text(
        "Two sentences that differ in one word get two translations. Where in the model does that "
        "word make the difference? Patch activations of the clean sentence into the corrupted one, "
        "**one at a time**, and see the effect on the prediction."
    )
    controls.sentence(model)
    st.text_input(
        **{**state.bound("other"), "label": "Corrupted sentence: the same with one word replaced"},
        placeholder="With as many tokens as the sentence above",
        live="400ms",
    )
    pairs = _pairs(model)
    view = state.view(Lab)
    if not view.other:
        st.info(
            "Write a corrupted sentence, or choose a pair."
            + (f" Example: “{pairs[0][0]}” and “{pairs[0][1]}”" if pairs else "")
        )
        if pairs and (example := _example(model, *pairs[0])):
            _draw(model, example, *pairs[0])
        return
    try:
        check_pair(model.translator, view.text, view.other)
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    visitor.ensure_id()
    result = computed(_question(model, view), button="Patch every site", about=ABOUT)
    if result:
        _draw(model, PatchingSweep.from_dict(result), view.text, view.other)


@cached("Patching every site of an example …")
def _example(model: Model, clean: str, corrupted: str) -> PatchingSweep | None:
    """Return the sweep over a bundled pair; None if the model translates both alike."""
    try:
        return patching_sweep(model.translator, clean, corrupted)
    except ValueError:
        return None


def _pairs(model: Model) -> list[tuple[str, str]]:
    """Draw buttons for the bundled pairs that have equally many tokens; return those pairs."""
    if own_sentences.spelling(model) != "text":
        return []
    fitting = []
    with st.container(horizontal=True, gap="small"):
        for clean, corrupted in PAIRS:
            try:
                check_pair(model.translator, clean, corrupted)
            except ValueError:
                continue
            fitting.append((clean, corrupted))
            words = zip(clean.split(), corrupted.split(), strict=True)
            both = next((a.strip(".?"), b.strip(".?")) for a, b in words if a != b)
            st.button(
                f"{both[0]} → {both[1]}",
                key=f"pair-{both[0]}-{both[1]}",
                help=f"{clean} / {corrupted}",
                on_click=state.change,
                kwargs={"text": clean, "other": corrupted},
            )
    return fitting


def _question(model: Model, view: Lab) -> Computation:
    folder = str(models.checkpoints()[model.name].resolve())
    given = {"clean": view.text, "corrupted": view.other}
    return Computation(
        "transformer.analysis.interventions.patching_sweep:compute",
        {**given, "checkpoint": folder, "hash": model.hash},
        identity=(model.hash, given),
    )


def _draw(model: Model, found: PatchingSweep, clean: str, corrupted: str) -> None:
    view = state.view(Lab)
    _said(found)
    controls.button_row("swept")
    st.caption(HELP[view.swept])
    if view.swept == "heads":
        _heads(found)
    else:
        _maps(found, view.swept)
    st.caption(
        "0, the background colour: no effect. 1, blue: the prediction of the clean sentence is "
        "fully restored. Orange, below 0: the prediction moves further away from it."
    )
    tables.csv(
        "All patches (.csv)",
        lambda: found.table,
        file_name("patching", model.name, clean, "patched"),
    )
    exact.python_code(
        "The same from Python",
        f"""from transformer import Translator
from transformer.analysis.interventions.patching_sweep import patching_sweep

translator = Translator.load({str(models.public_path(model.name))!r})
found = patching_sweep(translator, {clean!r}, {corrupted!r})
print(found.prefix_tokens, found.answers, found.clean, found.corrupted)
print(found.table)  # one row per patch
print(found.map("stream", "encoder"), found.heads("cross"))""",
    )


def _said(found: PatchingSweep) -> None:
    """The two answers, and the numbers that 1 and 0 stand for."""
    clean, corrupted = (frame.plain(exact.token(one)) for one in found.answers)
    begun = frame.plain(" ".join(exact.tokens(found.prefix_tokens)[1:]))
    alike = f"Both translations begin with “{begun}”. Then" if begun else "At the first token,"
    numbers = [f"{one:+.2f}".replace("-", "−") for one in (found.clean, found.corrupted)]
    st.markdown(
        f"{alike} the clean sentence gives **{clean}** and the corrupted one **{corrupted}**. The "
        f"logit of “{clean}” minus that of “{corrupted}” is {numbers[0]} for the clean sentence "
        f"and {numbers[1]} for the corrupted one. The figures show which share of this difference "
        "each patch restores."
    )


def _maps(found: PatchingSweep, part: str) -> None:
    columns = {"encoder": _columns(found), "decoder": exact.tokens(found.prefix_tokens)}
    limit = max(1.0, *(float(np.abs(found.map(part, stack)[1]).max()) for stack in STACKS))
    for stack, place in zip(STACKS, st.columns(2, gap="large"), strict=True):
        sites, values = found.map(part, stack)
        rows = [_row(site) for site in sites]
        with place:
            st.markdown(f"**{stack.capitalize()}**: {_strongest(values, rows, columns[stack])}")
            figure = table(
                values,
                rows,
                columns[stack],
                down="after layer and sublayer",
                across="source token" if stack == "encoder" else "target token read",
                quantity=RESTORED,
                limit=limit,
                dark=dark(),
            )
            figure.update_layout(height=150 + 26 * len(rows))
            chart(figure, f"sweep-{part}-{stack}")


def _columns(found: PatchingSweep) -> list[str]:
    """The clean sentence's tokens; both where they differ."""
    both = zip(
        *(exact.tokens(tokens) for tokens in (found.clean_tokens, found.corrupted_tokens)),
        strict=True,
    )
    return [a if a == b else f"{a} | {b}" for a, b in both]


def _row(site: str) -> str:
    """Such as "3 self-attention"; the layers are counted as the session counts them."""
    _, *way, _ = site.split(".")
    name = SUBLAYERS[way[-1].removesuffix("_norm")]
    return f"{exact.number(int(way[1]))} {name}" if len(way) > 1 else name


def _strongest(
    values: Float[np.ndarray, "sites positions"], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Where most comes back, of the last site with as much as that."""
    best = float(values.max())
    row, column = np.argwhere(values >= best - 0.005)[-1]
    return (
        f"at most {best:.0%}, at “{frame.plain(columns[column])}” after {rows[row]}"
        if best >= 0.005
        else "no patch restores anything"
    )


def _heads(found: PatchingSweep) -> None:
    limit = charts.head_heatmaps(
        {kind: found.heads(kind) for kind in KINDS},
        RESTORED,
        "sweep-heads",
        lambda head, best: f", most in {head} ({best:.0%})" if best >= 0.005 else "",
    )
    st.caption(f"The colour scale of the heads ends at ±{limit:.2f}.")
