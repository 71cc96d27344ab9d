"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

import streamlit as st

from transformer.figures import module, pack, start_at, steps_data, style, translation_data
from transformer.figures.packing import Labels
from transformer.ui import state
from transformer.ui.readings import Reading

_attention = st.components.v2.component(
    "heads_up.attention", css=style("attention"), js=module("attention")
)
_translation = st.components.v2.component(
    "heads_up.translation", css=style("translation"), js=module("translation")
)


def attention(reading: Reading) -> None:
    """All heads of the view's kind, and the chosen one large. A choice made in the browser is
    drawn there at once; the session hears of it afterwards."""
    view = state.view()
    packed = reading.packed(view.kind)
    # It opens at the head that the view tells. That head is not sent again with every later
    # choice: the same bytes as before do not travel again.
    opening = (hash(packed), state.visit())
    if st.session_state.get("opening") != opening:
        st.session_state["opening"] = opening
        st.session_state["opened"] = (view.layer, view.head)
    layer, number = st.session_state["opened"]
    data = start_at(packed, layer, number, state.visit())
    _attention(key="attention", data=data, on_chosen_change=_chosen)


def head(reading: Reading, kind: str, layer: int, number: int) -> None:
    """One head alone, as a picture that answers to the pointer."""
    rows, columns = reading.trace.labels(kind)
    writes = None if kind == "encoder" else reading.trace.predicted_tokens
    labels = Labels(rows, columns, writes=writes, causal=kind == "decoder")
    weights = reading.trace.weights(kind, layer)[number : number + 1]
    _attention(key="head", data=pack([weights], labels))


def translation(reading: Reading) -> None:
    """The translation, large, and the pieces that were read and written."""
    done = reading.trace.translation
    data = translation_data(done.text, done.src_tokens, done.tokens)
    _translation(key="translation", data=data)


def steps(reading: Reading) -> None:
    """The table of decoding steps."""
    _translation(key="steps", data=steps_data(reading.trace.translation.steps))


def _chosen() -> None:
    chosen = st.session_state["attention"]["chosen"]
    state.change(layer=int(chosen["layer"]), head=int(chosen["head"]))
