"""Attention: every head of one kind as a small picture, the chosen one large."""

from __future__ import annotations

import streamlit as st

from transformer.ui import controls, frame, readings, state, views
from transformer.ui.address import KINDS

ABOUT = {
    "encoder": "**Encoder self-attention.** Every piece of your sentence looks at all of its "
    "pieces, itself included.",
    "decoder": "**Masked decoder self-attention.** Every piece of the translation looks at itself "
    "and those before it. What comes later is masked: it was not there yet.",
    "cross": "**Encoder–decoder attention.** Before it writes the next piece of the translation, "
    "the model looks at your sentence.",
}

with frame.page("pages/attention.py") as model:
    st.title("Attention")
    left, right = st.columns(2, gap="large")
    with left:
        controls.sentence()
    with right:
        st.segmented_control(
            "Who looks at whom?",
            list(KINDS),
            format_func=KINDS.__getitem__,
            required=True,
            **state.bound("kind"),
        )
        st.markdown(ABOUT[state.view().kind])
    views.attention(readings.read(model, state.view()))
    with st.expander("How to read this"):
        st.markdown(
            "- **A small picture is one head.** Layers go down, heads across, both counted from 0 "
            "as in the code. Click one, or go through them with the arrow keys.\n"
            "- **A row is who looks, a column is what is looked at.** The weights of a row add up "
            "to 1: they say how much the row takes from each column.\n"
            "- **“a → b” beside a row** means: the decoder had just read *a*, and went on to write "
            "*b*. Its input is the output, shifted right by one.\n"
            "- **\\<s\\> and \\</s\\>** are the beginning and the end. The short stroke before a "
            "piece marks the beginning of a word."
        )
