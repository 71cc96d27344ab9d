"""Inside: one sentence through every box of the paper's Figure 1."""

from __future__ import annotations

import streamlit as st

from transformer.ui import state
from transformer.ui.pages.inside import (
    Inside,
    learning,
    lens,
    own_pair,
    walkthrough,
)
from transformer.ui.shell import page
from transformer.ui.widgets import controls

SECTIONS = {
    "walk": walkthrough.show,
    "training": own_pair.shifted_right,
    "learning": learning.show,
    "lens": lens.show,
    "bleu": own_pair.bleu_by_hand,
}

with page.page("pages/inside.py") as model:
    sentence_column, section_column = st.columns([4, 5], gap="small")
    with sentence_column:
        controls.sentence(model)
    with section_column:
        controls.button_row("section")
    SECTIONS[state.view(Inside).section](model)
