"""The index of all experiments, and the heading of one experiment."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.page_icons import STYLE, experiment_picture
from transformer.ui.pages.research import EXPERIMENTS, QUESTIONS
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame

PAGE = "pages/research.py"


def show(model: Model) -> None:
    """Draw one card for each experiment: picture, question and title; the card is a link."""
    frame.lead_text(
        "An attention head is a part of the model that, for each word, looks at some of the words. "
        f"These experiments ask what the heads of {frame.plain(model.name)} do."
    )
    with st.container(horizontal=True, key="page-cards"):
        for name, title in EXPERIMENTS.items():
            with st.container(border=True, gap="xsmall", key=f"page-card-{name}"):
                _picture(name)(key=f"picture-{name}", data={})
                frame.page_link(PAGE, f"**{QUESTIONS[name]}** →", experiment=name)
                st.caption(title)


def heading(experiment: str) -> None:
    """Draw the way back to the index, the experiment's title and its question."""
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="breadcrumb"):
            frame.page_link(PAGE, "Research", experiment="")
            st.markdown("›", width="content")
            st.header(EXPERIMENTS[experiment], width="content", anchor=False)
        st.markdown(QUESTIONS[experiment])


@cache
def _picture(name: str) -> Callable[..., Any]:
    """Return the component that draws the picture; Streamlit's own HTML removes SVG."""
    return st.components.v2.component(
        f"heads_up.experiment-{name}", html=experiment_picture(name), css=STYLE
    )
