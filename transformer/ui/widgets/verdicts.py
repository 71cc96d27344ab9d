"""Verdicts on a page: a badge, and the reason, or the effect with its interval and threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st

from transformer.analysis.evidence.verdicts import Verdict, VerdictWord
from transformer.figures.interval_chart import interval, interval_line
from transformer.ui.widgets import frame

BADGES: dict[VerdictWord, tuple[Literal["green", "violet", "blue", "gray"], str]] = {
    "holds": ("green", ":material/check_circle:"),
    "does not hold here": ("violet", ":material/cancel:"),
    "inconclusive": ("blue", ":material/help:"),
    "can't be tested here": ("gray", ":material/block:"),
}


def badge(word: VerdictWord) -> None:
    """Draw a verdict as a badge; each has its own icon, so that colour is not needed."""
    colour, icon = BADGES[word]
    st.badge(word.capitalize(), color=colour, icon=icon)


def race(result: Verdict) -> None:
    """Draw the verdict on a claim of a race, with its reason."""
    with st.container(horizontal=True, vertical_alignment="center"):
        badge(result.word)
        st.markdown(f"**{frame.plain(result.claim.text)}**")
        st.caption(frame.plain(result.reason))


def interval_line_only(effect_data: Mapping[str, Any]) -> None:
    """Draw the effect's interval and the side on which the claim holds, without figures.

    Args:
        effect_data: as for `effect`.
    """
    bounds = effect_data["low"], effect_data["value"], effect_data["high"]
    below = effect_data["needs"] == "below"
    line = interval_line(effect_data["unit"], bounds, effect_data["floor"], below=below)
    st.html(f'<div class="hu-effect hu-effect-small">{line}</div>')


def effect(effect_data: Mapping[str, Any]) -> None:
    """Draw the measured effect with its interval and what the claim requires.

    Args:
        effect_data: with the keys of `analysis.evidence.verdicts.Effect.to_dict`.
    """
    st.html(
        interval(
            effect_data["effect"],
            effect_data["unit"],
            (effect_data["low"], effect_data["value"], effect_data["high"]),
            effect_data["floor"],
            below=effect_data["needs"] == "below",
        )
    )
