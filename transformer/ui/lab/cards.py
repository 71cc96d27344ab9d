"""What every head does over a corpus: numbers, a role, and the sentences where it is strongest."""

from __future__ import annotations

import streamlit as st

from transformer.ui.lab import corpus, measuring
from transformer.ui.models import Model


def show(model: Model) -> None:
    """Draw this part of the page."""
    texts = corpus.chosen(model)
    if texts is None:
        return
    found = measuring.measured(model, texts, "heads", about="This takes a few seconds for every hundred sentences.")
    if found is not None:
        st.write(len(found["cards"]))
