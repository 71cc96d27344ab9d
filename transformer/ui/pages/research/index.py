"""The index of all experiments, and the heading of one experiment."""

from __future__ import annotations

import streamlit as st

from transformer.ui.pages.research import EXPERIMENTS, PAGE
from transformer.ui.services.models import Model
from transformer.ui.widgets import cards, frame


def show(model: Model) -> None:
    """Draw one card for each experiment: picture, question and title; the card is a link."""
    frame.lead_text(
        "An attention head is a part of the model that, for each word, looks at some of the words. "
        f"These experiments ask what the heads of {frame.plain(model.name)} do."
    )
    with cards.cards():
        for name, experiment in EXPERIMENTS.items():
            question = f"**{experiment.question}** →"
            cards.card(name, PAGE.file, question, experiment.title, experiment=name)


def heading(experiment: str) -> None:
    """Draw the way back to the index, the experiment's title and its question, in one line."""
    with st.container(horizontal=True, vertical_alignment="center", key="breadcrumb"):
        frame.page_link(PAGE.file, "Research", experiment="")
        st.markdown("›", width="content")
        st.header(EXPERIMENTS[experiment].title, width="content", anchor=False)
        st.markdown(EXPERIMENTS[experiment].question, width="content")
