"""The translation of the visitor's sentence, and how each piece of it was chosen."""

from __future__ import annotations

import streamlit as st

from transformer.figures import steps_data
from transformer.text.visible import is_blank
from transformer.ui import readings, state
from transformer.ui.kit import views
from transformer.ui.models import Model
from transformer.ui.readings import Reading


def show(model: Model) -> Reading | None:
    """The translation; None, with what to do, where the visitor is to write one and has not."""
    view = state.view()
    if view.method == "forced" and is_blank(view.target):
        st.info("Write a translation of your own below, and see how probable the model finds it.")
        return None
    reading = readings.read(model, view)
    views.translation(reading, model.about.writes)
    return reading


def steps(reading: Reading) -> None:
    """The table of decoding steps."""
    data = steps_data(reading.trace.translation.steps)
    views.component("translation")(key="steps", data=data)
