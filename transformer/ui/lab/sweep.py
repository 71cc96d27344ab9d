"""Activation patching: two sentences a word apart, and what of the one turns the other's answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from transformer.analysis.interventions.patching_sweep import STACKS, PatchingSweep, check_pair
from transformer.figures.naming import file_name
from transformer.figures.positions import table
from transformer.figures.state import KINDS
from transformer.jobs import Computation
from transformer.ui import frame, models, state
from transformer.ui.kit import charts, controls, exact, own_sentences, tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.computed import computed
from transformer.ui.lab import Lab
from transformer.ui.models import Model
from transformer.ui.server import visitor

PAIRS = (
    ("She reads the letter.", "She reads the book."),
    ("My brother is tired.", "My sister is tired."),
    ("The red car is new.", "The red book is new."),
    ("Where is the key?", "Where is the book?"),
    ("I saw her yesterday.", "I saw him yesterday."),
)
"""Of as many pieces each, for the checkpoints that come with the app; the word that is exchanged
changes another one in French or in German."""
ABOUT = (
    "The corrupted sentence is read again and again, each time with one activation of the clean "
    "one in its place: some 400 passes, side by side; a few seconds for a short sentence."
)
HELP = {
    "stream": "What is known at a token after each sublayer. It is put in whole: whatever the "
    "layers above will make of it comes along.",
    "attention": "What each attention adds to the stream of a token, and nothing else.",
    "ffn": "What each feed-forward network adds to the stream of a token, and nothing else.",
    "heads": "What one head hands on, at all tokens together.",
}
SUBLAYERS = {
    "embed": "embedding",
    "self_attn": "self-attention",
    "cross_attn": "encoder–decoder attention",
    "ffn": "feed-forward",
}
RESTORED = "brought back"


def show(model: Model) -> None:
    """Two sentences, a button, and where the clean answer comes back."""
    frame.lead(
        "Two sentences a word apart, two translations. Where on its way through the model does "
        "that word make the difference? Put activations of the one into the other, **one at a "
        "time**, and see how far the answer turns."
    )
    controls.sentence(model)
    st.text_input(
        **{**state.bound("other"), "label": "The same with one word exchanged"},
        placeholder="As long as the first one",
        live="400ms",
    )
    _pairs(model)
    view = state.view(Lab)
    if not view.other:
        st.info("Write a second sentence, the first one with a word exchanged, or take a pair.")
        return
    try:
        check_pair(model.translator, view.text, view.other)
    except ValueError as error:
        st.warning(frame.plain(frame.sentence(error)))
        return
    visitor.owner()
    told = computed(_question(model, view), button="Patch every site", about=ABOUT)
    if told:
        _draw(model, PatchingSweep.from_dict(told))


def _pairs(model: Model) -> None:
    """Ours, as far as this model reads them with as many pieces each."""
    if own_sentences.spelling(model) != "text":
        return
    with st.container(horizontal=True, gap="small"):
        for clean, corrupted in PAIRS:
            try:
                check_pair(model.translator, clean, corrupted)
            except ValueError:
                continue
            words = zip(clean.split(), corrupted.split(), strict=True)
            both = next((a.strip(".?"), b.strip(".?")) for a, b in words if a != b)
            st.button(
                f"{both[0]} → {both[1]}",
                key=f"pair-{both[0]}-{both[1]}",
                help=f"{clean} / {corrupted}",
                on_click=state.change,
                kwargs={"text": clean, "other": corrupted},
            )


def _question(model: Model, view: Lab) -> Computation:
    folder = str(models.checkpoints()[model.name].resolve())
    given = {"clean": view.text, "corrupted": view.other}
    return Computation(
        "transformer.analysis.interventions.patching_sweep:compute",
        {**given, "checkpoint": folder, "hash": model.hash},
        known_by=(model.hash, given),
    )


def _draw(model: Model, found: PatchingSweep) -> None:
    view = state.view(Lab)
    _said(found)
    controls.one_of("swept")
    st.caption(HELP[view.swept])
    if view.swept == "heads":
        _heads(found)
    else:
        _maps(found, view.swept)
    st.caption(
        "0, the colour of the ground: nothing changes. 1, blue: the answer is wholly that of the "
        "clean sentence. Orange, below 0: it is pushed further away."
    )
    tables.csv(
        "All patches (.csv)",
        lambda: found.table,
        file_name("patching", model.name, view.text, "patched"),
    )
    exact.program(
        "The same from Python",
        f"""from transformer import Translator
from transformer.analysis.interventions.patching_sweep import patching_sweep

translator = Translator.load({str(models.written(model.name))!r})
found = patching_sweep(translator, {view.text!r}, {view.other!r})
print(found.prefix_tokens, found.answers, found.clean, found.corrupted)
print(found.table)  # a line a patch
print(found.map("stream", "encoder"), found.heads("cross"))""",
    )


def _said(found: PatchingSweep) -> None:
    """The two answers, and the numbers that 1 and 0 stand for."""
    clean, corrupted = (frame.plain(exact.token(one)) for one in found.answers)
    begun = frame.plain(" ".join(exact.tokens(found.prefix_tokens)[1:]))
    alike = f"Both translations begin with “{begun}”; then" if begun else "Of both translations"
    numbers = [f"{one:+.2f}".replace("-", "−") for one in (found.clean, found.corrupted)]
    st.markdown(
        f"{alike} the clean sentence's goes on with **{clean}** and the corrupted one's with "
        f"**{corrupted}**: the logit of “{clean}” minus that of “{corrupted}” is {numbers[0]} for "
        f"the one and {numbers[1]} for the other. Shown is how much of that difference each patch "
        "brings back."
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
                across="token of the source" if stack == "encoder" else "token that was read",
                what=RESTORED,
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
        f"{best:.0%} at “{frame.plain(columns[column])}” after {rows[row]}"
        if best >= 0.005
        else "nothing comes back anywhere"
    )


def _heads(found: PatchingSweep) -> None:
    limit = charts.head_boards(
        {kind: found.heads(kind) for kind in KINDS},
        RESTORED,
        "sweep-heads",
        lambda head, best: f", most in {head} ({best:.0%})" if best >= 0.005 else "",
    )
    st.caption(f"The colours of the heads end at ±{limit:.2f}.")
