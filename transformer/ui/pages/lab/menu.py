"""The experiments of the lab in three groups, each with a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.page_icons import STYLE, lab_picture
from transformer.ui import state
from transformer.ui.pages.lab import EXPERIMENTS, Lab


@dataclass(frozen=True)
class Group:
    """A group of experiments.

    Attributes:
        name: key of its picture in `figures.page_icons.LAB_PICTURES`.
        experiments: keys in `EXPERIMENTS`.
    """

    name: str
    title: str
    description: str
    experiments: tuple[str, ...]


GROUPS = (
    Group(
        "interventions",
        "Interventions",
        "Change heads or activations and see what happens to the translation.",
        ("importance", "sweep"),
    ),
    Group(
        "attribution",
        "Attribution",
        "Which source words a head or the whole model used.",
        ("attribution", "align"),
    ),
    Group(
        "corpus",
        "Over many sentences",
        "What each head does across a corpus.",
        ("roles",),
    ),
)


def show() -> None:
    """Draw all groups; the current experiment is selected."""
    current = state.view(Lab).experiment
    with st.container(key="lab-groups"):
        for group, column in zip(GROUPS, st.columns(len(GROUPS), gap="small"), strict=True):
            with column, st.container(border=True, gap="xsmall", key=f"lab-group-{group.name}"):
                _picture(group.name)(key=f"lab-picture-{group.name}", data={})
                st.markdown(f"**{group.title}**")
                st.caption(group.description)
                _experiment_choice(group, current)


def _experiment_choice(group: Group, current: str) -> None:
    key = f"lab-choice-{group.name}"
    st.session_state[key] = current if current in group.experiments else None
    st.pills(
        group.title,
        group.experiments,
        format_func=EXPERIMENTS.__getitem__,
        key=key,
        label_visibility="collapsed",
        on_change=_open,
        args=(key,),
    )


def _open(key: str) -> None:
    """Open the selected experiment; a second click deselects it and has no effect."""
    experiment = st.session_state[key]
    if experiment is not None and experiment != state.view(Lab).experiment:
        state.change(lab=experiment)


@cache
def _picture(name: str) -> Callable[..., Any]:
    return st.components.v2.component(f"heads_up.lab-{name}", html=lab_picture(name), css=STYLE)
